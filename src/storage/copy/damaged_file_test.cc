// A file that has rotted on the disk is not sent on: its recorded checksum is compared before anything is published.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "http/server.h"
#include "objectserver/server.h"
#include "storage/auth/anonymous_signer.h"
#include "storage/copy/copy_object.h"
#include "storage/copy/part_journal.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/file/file_store.h"
#include "storage/gcs/gcs_store.h"
#include "storage/open.h"
#include "storage/s3/s3_store.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr int64_t kPartBytes = int64_t{5} << 20;

struct DamageCase {
  std::string name;
  std::string target;  ///< a URI; empty: another folder
  bool in_parts = false;
  bool if_absent = false;
};

class DamagedFileTest : public testing::TestWithParam<DamageCase> {
 protected:
  void SetUp() override {
    objectserver::ServeOptions serve;
    serve.buckets = {"test"};
    server_ = *objectserver::ObjectServer::Start(serve);
    store_options_.endpoint = server_->url();
    store_options_.region = "us-east-1";
    store_options_.anonymous = true;
    store_options_.part_bytes = kPartBytes;
    const std::string uri = GetParam().target.empty() ? "file://" + folder_.path() + "/to/" : GetParam().target;
    target_ = OpenStore(uri, store_options_)->store;
    options_.journal_folder = folder_.path() + "/journals";
    options_.write.condition.kind = GetParam().if_absent ? WriteCondition::Kind::kAbsent : WriteCondition::Kind::kNone;
  }

  /// Written through the store.
  void Put() {
    const std::string content(static_cast<size_t>(GetParam().in_parts ? 2 * kPartBytes + 1 : 100), '0');
    const Bytes bytes = std::as_bytes(std::span(content));
    ASSERT_TRUE(files_.Write("k", std::span(&bytes, 1), {}).ok());
  }
  /// Changed so that nothing but the checksum tells; with `later` so that the time does.
  void Damage(std::chrono::seconds later = {}) {
    const std::string path = folder_.path() + "/from/k";
    const auto time = std::filesystem::last_write_time(path);
    std::fstream(path, std::ios::in | std::ios::out) << "1";
    std::filesystem::last_write_time(path, time + later);
  }
  Status Copy() { return CopyObject(files_, "k", *target_, "k", options_).status(); }
  bool HasJournal() const {
    return FileExists(options_.journal_folder) && !std::filesystem::is_empty(options_.journal_folder);
  }
  void ExpectDamageAndNothingLeft() {
    const Status status = Copy();
    EXPECT_EQ(status.code(), ErrorCode::kIo);
    EXPECT_THAT(status.message(), HasSubstr("cannot read " + files_.Uri("k") + ": the content is damaged"));
    EXPECT_THAT(status.message(), Not(HasSubstr("write it again")));
    EXPECT_FALSE((*target_->Stat("k")).has_value());
    EXPECT_THAT(*target_->ListUploads(""), IsEmpty());
    EXPECT_FALSE(HasJournal());
  }

  StoreOptions store_options_;
  TemporaryDirectory folder_ = *TemporaryDirectory::Create("assay-damaged");
  FileStore files_{{folder_.path() + "/from", false}};
  std::unique_ptr<objectserver::ObjectServer> server_;
  std::shared_ptr<ObjectStore> target_;
  ObjectCopyOptions options_;
};

TEST_P(DamagedFileTest, IsNotSentOn) {
  Put();
  Damage();
  ExpectDamageAndNothingLeft();
}

TEST_P(DamagedFileTest, IsSentOnByWhoDoesNotWantToKnow) {
  Put();
  Damage();
  options_.verify = false;
  EXPECT_TRUE(Copy().ok());
}

/// Does something just before a write.
class HookedStore final : public ForwardingStore {
 public:
  HookedStore(std::shared_ptr<ObjectStore> inner, std::function<void()> hook)
      : ForwardingStore(std::move(inner)), hook_(std::move(hook)) {}
  Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes> buffers,
                           const WriteOptions& options) override {
    hook_();
    return ForwardingStore::Write(key, buffers, options);
  }

 private:
  const std::function<void()> hook_;
};

TEST_P(DamagedFileTest, OneThatWasWrittenMeanwhileHasChanged) {
  Put();
  target_ = std::make_shared<HookedStore>(target_, [this] { Damage(std::chrono::seconds(1)); });
  const Status status = Copy();
  EXPECT_EQ(status.code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("cannot read " + files_.Uri("k") + ": it changed"));
  EXPECT_FALSE((*target_->Stat("k")).has_value());
  EXPECT_THAT(*target_->ListUploads(""), IsEmpty());
  EXPECT_FALSE(HasJournal());
}

INSTANTIATE_TEST_SUITE_P(Copy, DamagedFileTest,
                         testing::Values(DamageCase{"file", ""}, DamageCase{"file_absent", "", false, true},
                                         DamageCase{"s3", "s3://test/"}, DamageCase{"s3_parts", "s3://test/", true},
                                         DamageCase{"gs", "gs://test/"}, DamageCase{"gs_parts", "gs://test/", true},
                                         DamageCase{"gs_session", "gs://test/", true, true},
                                         DamageCase{"oci_parts", "oci://test@assay/", true}),
                         [](const auto& info) { return info.param.name; });

class CutShortFileTest : public DamagedFileTest {
 protected:
  void SetUp() override {
    store_options_.connections = 1;
    DamagedFileTest::SetUp();
  }
};

TEST_P(CutShortFileTest, IsSentNoFurther) {
  const std::string content(8 * kPartBytes, '0');
  const Bytes bytes = std::as_bytes(std::span(content));
  int parts_sent = 0;
  options_.write.progress = [&](int64_t) {
    ++parts_sent;
    std::filesystem::resize_file(folder_.path() + "/from/k", kPartBytes);
  };
  for (const std::string& journals : {options_.journal_folder, std::string()}) {
    options_.journal_folder = journals;
    ASSERT_TRUE(files_.Write("k", std::span(&bytes, 1), {}).ok());
    parts_sent = 0;
    const Status status = Copy();
    EXPECT_EQ(status.code(), ErrorCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("cannot read " + files_.Uri("k") + ": it changed"));
    EXPECT_EQ(parts_sent, 1);
    EXPECT_FALSE((*target_->Stat("k")).has_value());
    EXPECT_THAT(*target_->ListUploads(""), IsEmpty());
    EXPECT_TRUE(journals.empty() || !HasJournal());
  }
}

INSTANTIATE_TEST_SUITE_P(Copy, CutShortFileTest,
                         testing::Values(DamageCase{"s3_parts", "s3://test/", true},
                                         DamageCase{"gs_parts", "gs://test/", true},
                                         DamageCase{"gs_session", "gs://test/", true, true},
                                         DamageCase{"oci_parts", "oci://test@assay/", true}),
                         [](const auto& info) { return info.param.name; });

/// Where requests go that should go to the bucket; nowhere else where empty.
struct Cut {
  std::atomic<bool> set = true;             ///< or nothing but the lists of parts goes elsewhere
  int part = 2;                             ///< the first to do so
  std::string url = "http://127.0.0.1:1/";  ///< of that part
  std::string abort_url{};                  ///< of what gives an upload up
  std::string list_url{};                   ///< of lists of parts
};

/// Of a bucket that is cut off so.
template <typename Base>
class CutOff final : public Base {
 public:
  template <typename... Arguments>
  explicit CutOff(const Cut& cut, Arguments&&... arguments) : Base(std::forward<Arguments>(arguments)...), cut_(cut) {}
  Outgoing PutPart(const std::string& key, const std::string& upload_id, int number,
                   ChecksumSource& body) const override {
    Outgoing outgoing = Base::PutPart(key, upload_id, number, body);
    if (cut_.set && number == cut_.part) {
      outgoing.request.url = cut_.url;
    }
    return outgoing;
  }
  Outgoing ListParts(const std::string& key, const std::string& upload_id, const std::string& page) const override {
    Outgoing outgoing = Base::ListParts(key, upload_id, page);
    if (!cut_.list_url.empty()) {
      outgoing.request.url = cut_.list_url;
    }
    return outgoing;
  }
  Outgoing AbortUpload(const std::string& key, const std::string& upload_id) const override {
    Outgoing outgoing = Base::AbortUpload(key, upload_id);
    if (cut_.set && !cut_.abort_url.empty()) {
      outgoing.request.url = cut_.abort_url;
    }
    return outgoing;
  }

 private:
  const Cut& cut_;
};

/// Takes requests and never answers.
class SilentServer {
 public:
  ~SilentServer() { over_.set_value(); }
  std::string url() const { return server_->url() + "/"; }

 private:
  std::promise<void> over_;
  const std::unique_ptr<http::Server> server_ =
      *http::Server::Start({}, http::WholeBody(
                                   [end = over_.get_future().share()](const http::RequestHead&, std::string_view) {
                                     end.wait();
                                     return http::TextResponse(503, "");
                                   },
                                   0));
};

class CutOffUploadTest : public DamagedFileTest {
 protected:
  void SetUp() override {
    DamagedFileTest::SetUp();
    store_options_.max_attempts = 1;
    store_options_.connections = 1;
    Open();
  }

  void Open() {
    auto nobody = std::make_unique<AnonymousSigner>();
    if (GetParam().name == "s3") {
      auto address = S3Address::Make("test", server_->url(), "us-east-1");
      ASSERT_TRUE(address.ok());
      auto dialect = std::make_unique<CutOff<S3Dialect>>(cut_, *std::move(address), "us-east-1", store_options_);
      target_ = std::make_shared<S3Store>(std::move(dialect), std::move(nobody), store_options_);
    } else {
      auto dialect = std::make_unique<CutOff<GcsDialect>>(cut_, GcsUrls(server_->url(), "test"), store_options_);
      target_ = std::make_shared<GcsStore>(std::move(dialect), std::move(nobody), store_options_);
    }
  }

  static std::unique_ptr<http::Server> Denying() {
    const auto deny = [](const http::RequestHead&, std::string_view) { return http::TextResponse(403, ""); };
    return *http::Server::Start({}, http::WholeBody(deny, 2 * kPartBytes));
  }
  void ExpectThatItStays() {
    EXPECT_THAT(*target_->ListUploads(""), SizeIs(1));
    EXPECT_TRUE(HasJournal());
  }
  /// Nothing is sent twice.
  void ExpectThatItIsGoneOnWith() {
    cut_.set = false;
    const auto copied = CopyObject(files_, "k", *target_, "k", options_);
    ASSERT_TRUE(copied.ok()) << copied.status().message();
    EXPECT_GE(copied->resumed_bytes, kPartBytes);
    EXPECT_THAT(*target_->ListUploads(""), IsEmpty());
    EXPECT_FALSE(HasJournal());
  }

  Cut cut_;
};

TEST_P(CutOffUploadTest, OfAFileThatRotsThenEndsWithItsJournal) {
  Put();
  EXPECT_EQ(Copy().code(), ErrorCode::kIo);
  EXPECT_THAT(*target_->ListUploads(""), SizeIs(1));
  EXPECT_TRUE(HasJournal());
  Damage();
  cut_.set = false;
  ExpectDamageAndNothingLeft();
}

TEST_P(CutOffUploadTest, OfAFileThatHadRottenIsNeverLeftWithoutItsJournal) {
  Put();
  Damage();
  // S3's checksum is another: for it the file is compared before anything is sent.
  EXPECT_THAT(Copy().message(), HasSubstr(GetParam().name == "s3" ? "damaged" : "cannot write part 2 of gs://test/k"));
  EXPECT_EQ((*target_->ListUploads("")).empty(), !HasJournal());
  cut_.set = false;
  ExpectDamageAndNothingLeft();
}

TEST_P(CutOffUploadTest, EndsWithItsJournalWhereTheNextIsCancelled) {
  Put();
  EXPECT_EQ(Copy().code(), ErrorCode::kIo);
  const std::atomic<bool> cancel = true;
  options_.write.cancel = &cancel;
  EXPECT_EQ(Copy().code(), ErrorCode::kAborted);
  EXPECT_THAT(*target_->ListUploads(""), IsEmpty());
  EXPECT_FALSE(HasJournal());
}

TEST_P(CutOffUploadTest, OutlivesTheNextIfThatIsRefused) {
  Put();
  EXPECT_EQ(Copy().code(), ErrorCode::kIo);
  options_.write.metadata = {{"no header", ""}};
  EXPECT_EQ(Copy().code(), ErrorCode::kInvalidArgument);
  ExpectThatItStays();
  options_.write.metadata.clear();
  const auto elsewhere = *objectserver::ObjectServer::Start({});
  store_options_.endpoint = elsewhere->url();
  const auto right = std::exchange(target_, OpenStore(GetParam().target, store_options_)->store);
  EXPECT_EQ(Copy().code(), ErrorCode::kNotFound) << "there is no such bucket";
  target_ = right;
  ExpectThatItStays();
  ExpectThatItIsGoneOnWith();
}

TEST_P(CutOffUploadTest, OutlivesACancelledOneToAnotherStoreWithoutItsBucket) {
  Put();
  EXPECT_EQ(Copy().code(), ErrorCode::kIo);
  const auto elsewhere = *objectserver::ObjectServer::Start({});
  store_options_.endpoint = elsewhere->url();
  const auto right = std::exchange(target_, OpenStore(GetParam().target, store_options_)->store);
  const std::atomic<bool> cancel = true;
  options_.write.cancel = &cancel;
  EXPECT_EQ(Copy().code(), ErrorCode::kAborted);
  target_ = right;
  options_.write.cancel = nullptr;
  ExpectThatItStays();
  ExpectThatItIsGoneOnWith();
}

TEST_P(CutOffUploadTest, IsLeftSoonByACancelledOneWhereTheStoreDoesNotAnswer) {
  Put();
  EXPECT_EQ(Copy().code(), ErrorCode::kIo);
  const SilentServer silent;
  store_options_.give_up_seconds = 0.1;
  store_options_.stall_timeout_seconds = 1e6;
  Open();
  cut_.abort_url = silent.url();
  const std::atomic<bool> cancel = true;
  options_.write.cancel = &cancel;
  EXPECT_EQ(Copy().code(), ErrorCode::kAborted);
  EXPECT_TRUE(HasJournal());
}

TEST_P(CutOffUploadTest, IsCancelledWhileItsHeldPartsAreRead) {
  const std::string content(4 * kPartBytes, '0');
  const Bytes bytes = std::as_bytes(std::span(content));
  ASSERT_TRUE(files_.Write("k", std::span(&bytes, 1), {}).ok());
  cut_.part = 4;
  EXPECT_EQ(Copy().code(), ErrorCode::kIo);
  cut_.set = false;
  std::atomic<bool> cancel = false;
  int held = 0;
  options_.write.cancel = &cancel;
  options_.write.progress = [&](int64_t) {
    ++held;
    cancel = true;
  };
  EXPECT_EQ(Copy().code(), ErrorCode::kAborted);
  EXPECT_EQ(held, 1);
}

TEST_P(CutOffUploadTest, KeepsItsJournalWhereItCannotBeGivenUp) {
  const auto denying = Denying();
  cut_.url = denying->url() + "/";
  Put();
  // That the service takes parts is found out, where it must be, by an upload that is given up.
  ASSERT_TRUE(target_->OpenWriter("k", {}).ok());
  cut_.abort_url = cut_.url;
  EXPECT_EQ(Copy().code(), ErrorCode::kPermissionDenied);
  ExpectThatItStays();
  ExpectThatItIsGoneOnWith();
}

TEST_P(CutOffUploadTest, WhosePartsMayNotBeListedGivesWayToAnother) {
  Put();
  EXPECT_EQ(Copy().code(), ErrorCode::kIo);
  const auto denying = Denying();
  cut_.set = false;
  cut_.list_url = denying->url() + "/";
  EXPECT_TRUE(Copy().ok());
  EXPECT_THAT(*target_->ListUploads(""), IsEmpty());
  EXPECT_FALSE(HasJournal());
}

TEST_P(CutOffUploadTest, IsGivenUpInTimeWhereTheStoreDoesNotAnswer) {
  const SilentServer silent;
  store_options_.give_up_seconds = 1;  // in which what finds out that parts are taken is given up
  store_options_.stall_timeout_seconds = 1e6;
  Open();
  Put();
  ASSERT_TRUE(target_->OpenWriter("k", {}).ok());
  const auto denying = Denying();
  cut_.url = denying->url() + "/";
  cut_.abort_url = silent.url();
  EXPECT_EQ(Copy().code(), ErrorCode::kPermissionDenied);
  ExpectThatItStays();
}

TEST_P(CutOffUploadTest, IsNotLeftBehindByAWriteUnderACondition) {
  Put();
  EXPECT_EQ(Copy().code(), ErrorCode::kIo);
  cut_.set = false;
  options_.write.condition.kind = WriteCondition::Kind::kAbsent;
  EXPECT_TRUE(Copy().ok());
  EXPECT_THAT(*target_->ListUploads(""), IsEmpty());
  EXPECT_FALSE(HasJournal());
}

/// Counts the uploads to be given up.
class AbortCounter final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  bool GiveUpUpload(const std::string& key, const std::string& upload_id) override {
    ++aborts;
    return ForwardingStore::GiveUpUpload(key, upload_id);
  }
  int aborts = 0;
};

TEST_P(CutOffUploadTest, AnAddressOfASessionGoesToNobody) {
  Put();
  {
    const auto mapped = files_.Map("k");
    const auto journal = PartJournal::Open(options_.journal_folder, *mapped, files_.Uri("k"), target_->Uri("k"));
    (*journal)->OnBegin({"https://store/secret", "token", kPartBytes, {}, "session of https://store 0"});
  }
  const auto counter = std::make_shared<AbortCounter>(target_);
  target_ = counter;
  const std::atomic<bool> cancel = true;
  options_.write.cancel = &cancel;
  EXPECT_EQ(Copy().code(), ErrorCode::kAborted);
  EXPECT_EQ(counter->aborts, 0);
  EXPECT_FALSE(HasJournal());
}

INSTANTIATE_TEST_SUITE_P(Copy, CutOffUploadTest,
                         testing::Values(DamageCase{"s3", "s3://test/", true}, DamageCase{"gs", "gs://test/", true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace assay::storage
