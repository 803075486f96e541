// Conformance: going on with an upload that another program began.
#include <functional>

#include "storage/conformance.h"

namespace assay::storage {
namespace {

using testing::IsEmpty;

/// Remembers an upload as the journal of a copy does.
class RememberingJournal : public UploadJournal {
 public:
  void OnBegin(const ResumableUpload& upload) override { upload_ = upload; }
  void OnPart(const UploadedPart& part) override {
    upload_.parts.push_back(part);
    ++sent_;
  }
  Status BeforePublish() override { return before_publish_(); }
  void set_before_publish(std::function<Status()> function) { before_publish_ = std::move(function); }

  const ResumableUpload& upload() const { return upload_; }
  int sent() const { return sent_; }

 private:
  ResumableUpload upload_;
  int sent_ = 0;
  std::function<Status()> before_publish_ = [] { return Status::Ok(); };
};

TEST_P(ObjectStoreConformance, GoesOnWithAnUploadFromItsFinishedParts) {
  if (!store().capabilities().resumable_uploads) {
    GTEST_SKIP() << "the store does not tell which parts it holds";
  }
  const std::string content = RandomContent(GetParam().large_bytes, 21);
  const Bytes bytes = AsBytes(content);
  RememberingJournal first;
  RememberingJournal second;
  // The first writer has sent all and published nothing when another goes on, which has notes of all parts but one.
  first.set_before_publish([&] {
    ResumableUpload earlier = first.upload();
    EXPECT_GE(earlier.parts.size(), 3U);
    earlier.parts.pop_back();
    EXPECT_THAT(store().Write("resumed", std::span(&bytes, 1), {.journal = &second, .resume = &earlier}).status(),
                IsOk());
    return Status::Io("the first writer ends here");
  });
  EXPECT_FALSE(store().Write("resumed", std::span(&bytes, 1), {.journal = &first}).ok());
  EXPECT_EQ(second.upload().upload_id, first.upload().upload_id);
  EXPECT_EQ(second.sent(), 1);
  EXPECT_TRUE(Get("resumed") == content);
  EXPECT_THAT(Uploads(), IsEmpty());
}

TEST_P(ObjectStoreConformance, BeginsAnewWhereTheUploadIsGone) {
  if (!store().capabilities().resumable_uploads) {
    GTEST_SKIP() << "the store does not tell which parts it holds";
  }
  const std::string content = RandomContent(GetParam().large_bytes, 22);
  const Bytes bytes = AsBytes(content);
  const ResumableUpload gone{
      .upload_id = "no-such-upload", .write_token = "token", .part_bytes = 8 << 20, .parts = {{1, 8 << 20, "etag"}}};
  RememberingJournal journal;
  ASSERT_THAT(store().Write("anew", std::span(&bytes, 1), {.journal = &journal, .resume = &gone}).status(), IsOk());
  EXPECT_NE(journal.upload().upload_id, gone.upload_id);
  EXPECT_TRUE(Get("anew") == content);
}

}  // namespace
}  // namespace assay::storage
