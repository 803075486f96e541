// Conformance: going on with an upload that another program began.
#include <atomic>
#include <functional>
#include <optional>

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

const WriteCondition kAbsent = {WriteCondition::Kind::kAbsent, ""};

Result<ObjectInfo> WriteText(ObjectStore& store, const std::string& key, const std::string& content,
                             const WriteOptions& options) {
  const Bytes bytes = AsBytes(content);
  return store.Write(key, std::span(&bytes, 1), options);
}

/// A writer that ends when all but the last bytes have been sent. `meanwhile` is called just before that, with what it
/// leaves behind. Skips the test where the store keeps nothing of such a write.
void WriteUntilTheEnd(ObjectStore& store, const std::string& key, const std::string& content, WriteOptions options,
                      const std::function<void(const ResumableUpload&)>& meanwhile) {
  if (!store.capabilities().resumable_uploads) {
    GTEST_SKIP() << "the store does not tell what it holds of an upload";
  }
  RememberingJournal journal;
  bool asked = false;
  journal.set_before_publish([&] {
    asked = true;
    if (!journal.upload().upload_id.empty()) {
      meanwhile(journal.upload());
    }
    return Status::Io("the first writer ends here");
  });
  options.journal = &journal;
  EXPECT_FALSE(WriteText(store, key, content, options).ok());
  EXPECT_TRUE(asked);
  if (journal.upload().upload_id.empty()) {
    GTEST_SKIP() << "the store takes this in one request";
  }
}

/// Goes on with all parts but one, and expects that not to be sent again which the store holds.
void GoOn(ObjectStore& store, const std::string& key, const std::string& content, ResumableUpload earlier,
          WriteOptions options, const std::function<std::optional<int64_t>()>& bytes_sent) {
  if (!earlier.parts.empty()) {
    EXPECT_GE(earlier.parts.size(), 3U);
    earlier.parts.pop_back();
  }
  RememberingJournal journal;
  std::atomic<int64_t> progress = 0;
  options.journal = &journal;
  options.resume = &earlier;
  options.progress = [&progress](int64_t bytes) { progress += bytes; };
  const std::optional<int64_t> before = bytes_sent();
  EXPECT_THAT(WriteText(store, key, content, options).status(), IsOk());
  EXPECT_EQ(journal.upload().upload_id, earlier.upload_id);
  EXPECT_LE(journal.sent(), 1);
  EXPECT_EQ(progress, static_cast<int64_t>(content.size()));
  if (before) {
    EXPECT_LT(*bytes_sent() - *before, static_cast<int64_t>(content.size() / 2));
  }
}

TEST_P(ObjectStoreConformance, AJournalIsAskedAboutWhateverIsPublished) {
  for (const std::string content : {"", "some"}) {
    RememberingJournal journal;
    journal.set_before_publish([] { return Status::Io("it has changed"); });
    EXPECT_FALSE(WriteText(store(), "asked", content, {.journal = &journal}).ok()) << content.size();
    const ObjectWrite write = {"asked", AsBytes(content)};
    EXPECT_FALSE(store().WriteMany(std::span(&write, 1), {.journal = &journal}).front().ok()) << content.size();
    EXPECT_FALSE(Exists("asked")) << content.size();
  }
}

TEST_P(ObjectStoreConformance, GoesOnWithAnUploadFromItsFinishedParts) {
  const std::string content = RandomContent(GetParam().large_bytes, 21);
  for (const WriteCondition& condition : {WriteCondition{}, kAbsent}) {
    const std::string key = condition.kind == WriteCondition::Kind::kNone ? "resumed" : "resumed if absent";
    WriteUntilTheEnd(store(), key, content, {.condition = condition}, [&](const ResumableUpload& earlier) {
      GoOn(store(), key, content, earlier, {.condition = condition}, [this] { return BytesSent(); });
    });
    EXPECT_TRUE(IsSkipped() || Get(key) == content);
    EXPECT_THAT(Uploads(), IsEmpty());
  }
}

TEST_P(ObjectStoreConformance, AConditionHoldsForAnUploadThatIsGoneOnWith) {
  const std::string content = RandomContent(GetParam().large_bytes, 23);
  WriteUntilTheEnd(store(), "taken", content, {.condition = kAbsent}, [&](const ResumableUpload& earlier) {
    Put("taken", "another was here first");
    EXPECT_THAT(WriteText(store(), "taken", content, {.condition = kAbsent, .resume = &earlier}).status(),
                HasCode(ErrorCode::kFailedPrecondition));
  });
  EXPECT_TRUE(IsSkipped() || Get("taken") == "another was here first");
}

TEST_P(ObjectStoreConformance, AConditionHoldsForAnUploadThatWasBegunWithoutOne) {
  const std::string content = RandomContent(GetParam().large_bytes, 24);
  WriteUntilTheEnd(store(), "taken", content, {}, [&](const ResumableUpload& earlier) {
    Put("taken", "another was here first");
    EXPECT_THAT(WriteText(store(), "taken", content, {.condition = kAbsent, .resume = &earlier}).status(),
                HasCode(ErrorCode::kFailedPrecondition));
  });
  EXPECT_TRUE(IsSkipped() || Get("taken") == "another was here first");
}

TEST_P(ObjectStoreConformance, BeginsAnewWhereTheUploadIsGone) {
  const std::string content = RandomContent(GetParam().large_bytes, 22);
  for (const WriteCondition& condition : {WriteCondition{}, kAbsent}) {
    const std::string key = condition.kind == WriteCondition::Kind::kNone ? "anew" : "anew if absent";
    WriteUntilTheEnd(store(), key, content, {.condition = condition}, [&](ResumableUpload gone) {
      gone.upload_id += "0";
      RememberingJournal journal;
      EXPECT_THAT(
          WriteText(store(), key, content, {.condition = condition, .journal = &journal, .resume = &gone}).status(),
          IsOk());
      EXPECT_NE(journal.upload().upload_id, gone.upload_id);
    });
    EXPECT_TRUE(IsSkipped() || Get(key) == content);
  }
}

TEST_P(ObjectStoreConformance, BeginsAnewWithOtherMetadata) {
  const std::string content = RandomContent(GetParam().large_bytes, 25);
  WriteUntilTheEnd(store(), "other", content, {.metadata = {{"colour", "blue"}}}, [&](const ResumableUpload& earlier) {
    EXPECT_THAT(WriteText(store(), "other", content, {.metadata = {{"colour", "red"}}, .resume = &earlier}).status(),
                IsOk());
  });
  const auto info = store().Stat("other");
  ASSERT_TRUE(IsSkipped() || (info.ok() && info->has_value()));
  EXPECT_TRUE(IsSkipped() || UserMetadata(**info).at("colour") == "red");
}

TEST_P(ObjectStoreConformance, NeverMixesTwoContents) {
  const std::string first = RandomContent(GetParam().large_bytes, 26);
  std::string second = first;
  second[10] ^= 1;
  for (const WriteCondition& condition : {WriteCondition{}, kAbsent}) {
    const std::string key = condition.kind == WriteCondition::Kind::kNone ? "mixed" : "mixed if absent";
    bool written = false;
    WriteUntilTheEnd(store(), key, first, {.condition = condition}, [&](const ResumableUpload& earlier) {
      written = WriteText(store(), key, second, {.condition = condition, .resume = &earlier}).ok();
    });
    EXPECT_TRUE(IsSkipped() || (written ? Get(key) == second : !Exists(key)));
  }
}

TEST_P(ObjectStoreConformance, AnUploadThatWasCompletedIsTheWritersOwn) {
  const std::string content = RandomContent(GetParam().large_bytes, 27);
  WriteUntilTheEnd(store(), "done", content, {.condition = kAbsent}, [&](const ResumableUpload& earlier) {
    // The second crashes before it can tell anybody; the third has the same notes.
    const WriteOptions again = {.condition = kAbsent, .resume = &earlier};
    EXPECT_THAT(WriteText(store(), "done", content, again).status(), IsOk());
    EXPECT_THAT(WriteText(store(), "done", content, again).status(), IsOk());
  });
  EXPECT_TRUE(IsSkipped() || Get("done") == content);
}

}  // namespace
}  // namespace assay::storage
