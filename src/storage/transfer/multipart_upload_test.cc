// The end of an upload in parts, against the embedded server: parts that land late, outages, and a store that published
// something else.
#include "storage/transfer/multipart_upload.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/text.h"
#include "objectserver/server.h"
#include "objectserver/store.h"
#include "storage/auth/anonymous_signer.h"
#include "storage/conformance.h"
#include "storage/open.h"
#include "storage/s3/s3_store.h"
#include "storage/served_credentials.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kBucket[] = "test";
constexpr int64_t kPartBytes = 5 * kMiB;

/// Remembers an upload, and does something just before it is published.
class HookedJournal : public UploadJournal {
 public:
  explicit HookedJournal(std::function<void()> hook = [] {}) : hook_(std::move(hook)) {}
  void OnBegin(const ResumableUpload& upload) override { upload_ = upload; }
  void OnPart(const UploadedPart& part) override {
    upload_.parts.push_back(part);
    ++sent_;
  }
  Status BeforePublish() override {
    hook_();
    return Status::Ok();
  }
  const ResumableUpload& upload() const { return upload_; }
  int sent() const { return sent_; }

 private:
  std::function<void()> hook_;
  ResumableUpload upload_;
  int sent_ = 0;
};

std::unique_ptr<objectserver::ObjectServer> StartServer(bool always_md5 = false, std::string credentials_file = "") {
  objectserver::ServeOptions serve;
  serve.credentials_file = std::move(credentials_file);
  serve.buckets = {kBucket};
  serve.always_md5 = always_md5;
  auto server = objectserver::ObjectServer::Start(serve);
  EXPECT_THAT(server.status(), IsOk());
  return *std::move(server);
}

StoreOptions OptionsFor(const objectserver::ObjectServer& server) {
  StoreOptions options;
  options.endpoint = server.url();
  options.region = "us-east-1";
  options.anonymous = true;
  options.part_bytes = kPartBytes;
  options.max_attempts = 2;
  return options;
}

std::string Get(ObjectStore& store, const std::string& key) {
  std::string content;
  const auto read = store.ReadWhole(key,
                                    [&content](int64_t size) {
                                      content.resize(static_cast<size_t>(size));
                                      return std::as_writable_bytes(std::span(content));
                                    },
                                    {});
  return read.ok() ? content : "error: " + read.status().message();
}

struct LatePartTarget {
  const char* name;
  const char* uri;
  const char* encryption = "";
  Access access = Access::kAnonymous;
};

/// Where etags are not made of the content, the copy of a part that lands last has another one than was told.
class LatePartTest : public testing::TestWithParam<LatePartTarget> {
 protected:
  void Start(bool always_md5) {
    const bool anonymous = GetParam().access == Access::kAnonymous;
    server_ = StartServer(always_md5, anonymous ? "" : credentials_.server_file());
    credentials_.GiveToClients(server_->url(), GetParam().access);
    StoreOptions options = OptionsFor(*server_);
    options.own["encryption"] = GetParam().encryption;
    options.anonymous = anonymous;
    auto opened = OpenStore(GetParam().uri, options);
    ASSERT_THAT(opened.status(), IsOk());
    store_ = opened->store;
  }

  /// Part 2 lands again, with the bytes of part `source`.
  void LandAgain(int source) {
    const auto uploads = server_->store().Uploads(kBucket);
    ASSERT_THAT(uploads, SizeIs(1));
    objectserver::Part part = uploads.front().parts.at(source);
    part.number = 2;
    part.etag = "late";
    ASSERT_TRUE(server_->store().PutPart(kBucket, uploads.front().id, part).ok());
  }

  Status Write(UploadJournal& journal) {
    const Bytes bytes = AsBytes(content_);
    return store_->Write("k", std::span(&bytes, 1), {.journal = &journal}).status();
  }

  Status Stream(UploadJournal& journal) {
    auto writer = store_->OpenWriter("k", {.journal = &journal});
    EXPECT_THAT(writer.status(), IsOk());
    EXPECT_THAT((*writer)->Write(AsBytes(content_)), IsOk());
    return (*writer)->Commit().status();
  }

  const std::string content_ = RandomContent(3 * kPartBytes + 1, 1);
  ServedCredentials credentials_;
  std::unique_ptr<objectserver::ObjectServer> server_;
  std::shared_ptr<ObjectStore> store_;
};

TEST_P(LatePartTest, ACopyOfOurBytesIsNamedAsItStands) {
  if (std::string_view(GetParam().uri).starts_with("gs")) {
    GTEST_SKIP() << "Google lists parts by etags of their content alone: a copy of our bytes has the one that was told";
  }
  Start(true);
  HookedJournal journal([this] { LandAgain(2); });
  EXPECT_THAT(Write(journal), IsOk());
  EXPECT_TRUE(Get(*store_, "k") == content_);
  EXPECT_EQ(journal.sent(), 4);
  EXPECT_THAT(Stream(journal), IsOk());
  EXPECT_EQ(journal.sent(), 8);
}

TEST_P(LatePartTest, WhatCannotBeProvenIsSentAgain) {
  Start(false);
  for (const int source : {2, 1}) {
    HookedJournal journal([this, source] { LandAgain(source); });
    EXPECT_THAT(Write(journal), IsOk());
    EXPECT_TRUE(Get(*store_, "k") == content_);
  }
}

TEST_P(LatePartTest, BytesThatAreNotOursAreNeverPublished) {
  Start(true);
  HookedJournal journal([this] { LandAgain(1); });
  EXPECT_FALSE(Stream(journal).ok());
  EXPECT_THAT(store_->Stat("k").value(), testing::Eq(std::nullopt));
  EXPECT_THAT(server_->store().Uploads(kBucket), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Served, LatePartTest,
                         testing::Values(LatePartTarget{"s3", "s3://test/", "aws:kms"},
                                         LatePartTarget{"oci", "oci://test@assay/"}, LatePartTarget{"gs", "gs://test/"},
                                         LatePartTarget{"gs_with_hmac_keys", "gs://test/", "", Access::kHmacKeys}),
                         [](const auto& info) { return info.param.name; });

/// Of S3, with trouble at the request that completes an upload.
class TroubledDialect : public S3Dialect {
 public:
  using S3Dialect::S3Dialect;

  Outgoing CompleteUpload(const std::string& key, const std::string& upload_id, std::span<const UploadedPart> parts,
                          const std::optional<Checksum>& whole, const WriteOptions& options) const override {
    Outgoing outgoing = S3Dialect::CompleteUpload(key, upload_id, parts, whole, options);
    ++completions;
    if (unreachable) {
      outgoing.request.url = "http://127.0.0.1:1/";
    }
    return outgoing;
  }
  Read<ObjectInfo> ReadCompleteUpload(const std::string& key, const http::Response& answer) const override {
    Read<ObjectInfo> read = S3Dialect::ReadCompleteUpload(key, answer);
    if (lies) {
      read.value.checksum = Checksum{ChecksumKind::kCrc64Nvme, "12345678"};
    }
    return read;
  }

  mutable std::atomic<int> completions = 0;
  std::atomic<bool> unreachable = false;
  std::atomic<bool> lies = false;
};

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() : server_(StartServer()) {
    const StoreOptions options = OptionsFor(*server_);
    const auto address = S3Address::Make(kBucket, options.endpoint, options.region);
    auto dialect = std::make_unique<TroubledDialect>(*address, options.region, options);
    dialect_ = dialect.get();
    store_ = std::make_unique<S3Store>(std::move(dialect), std::make_unique<AnonymousSigner>(), options);
  }

  Status Write(const WriteOptions& options) {
    const Bytes bytes = AsBytes(content_);
    return store_->Write("k", std::span(&bytes, 1), options).status();
  }

  const std::string content_ = RandomContent(2 * kPartBytes + 1, 1);
  std::unique_ptr<objectserver::ObjectServer> server_;
  TroubledDialect* dialect_ = nullptr;
  std::unique_ptr<S3Store> store_;
};

TEST_F(CompletionTest, AnOutageKeepsAnUploadThatIsWrittenDown) {
  dialect_->unreachable = true;
  HookedJournal journal;
  EXPECT_THAT(Write({.journal = &journal}), HasCode(ErrorCode::kIo));
  EXPECT_THAT(server_->store().Uploads(kBucket), SizeIs(1));
  dialect_->unreachable = false;
  HookedJournal second;
  EXPECT_THAT(Write({.journal = &second, .resume = &journal.upload()}), IsOk());
  EXPECT_EQ(second.sent(), 0);
  EXPECT_TRUE(Get(*store_, "k") == content_);
}

TEST_F(CompletionTest, AnOutageAbortsAnUploadThatNobodyCanGoOnWith) {
  dialect_->unreachable = true;
  EXPECT_THAT(Write({}), HasCode(ErrorCode::kIo));
  EXPECT_THAT(server_->store().Uploads(kBucket), IsEmpty());
}

TEST_F(CompletionTest, AnotherChecksumOfTheWholeIsAnErrorAndIsNotTriedAgain) {
  dialect_->lies = true;
  const Status status = Write({});
  EXPECT_THAT(status, HasCode(ErrorCode::kIo));
  EXPECT_THAT(status.message(), HasSubstr("the store published other content: crc64nvme of what was sent is " +
                                          ChecksumOf(ChecksumKind::kCrc64Nvme, AsBytes(content_)).Hex() +
                                          ", the store computed 3132333435363738; there stands now: " +
                                          std::to_string(content_.size()) + " bytes"));
  EXPECT_EQ(dialect_->completions, 1);
}

TEST(MultipartUpload, TheDeadlineIsThatOfAllItsRequests) {
  const auto server = StartServer();
  StoreOptions options = OptionsFor(*server);
  options.deadline_seconds = 1;
  const auto store = OpenStore("s3://test/", options)->store;
  const std::string content = RandomContent(2 * kPartBytes, 1);
  const Bytes bytes = AsBytes(content);
  HookedJournal journal([] { std::this_thread::sleep_for(std::chrono::milliseconds(1100)); });
  const Status late = store->Write("k", std::span(&bytes, 1), {.journal = &journal}).status();
  EXPECT_THAT(late, HasCode(ErrorCode::kIo));
  EXPECT_THAT(late.message(), HasSubstr("the deadline of the operation has passed"));
  EXPECT_FALSE(store->Stat("k")->has_value());
}

}  // namespace
}  // namespace assay::storage
