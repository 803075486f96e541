// Credentials that end in the middle of a transfer: the real signers against a server that checks.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "objectserver/server.h"
#include "storage/auth/sigv4_signer.h"
#include "storage/auth/time_format.h"
#include "storage/conformance.h"
#include "storage/gcs/gcs_signer.h"
#include "storage/gcs/gcs_store.h"
#include "storage/oci/oci_signer.h"
#include "storage/oci/oci_store.h"
#include "storage/s3/s3_store.h"

namespace assay::storage {
namespace {

/// Lets the first credentials end once a part has been taken.
class EndAfterTheFirstPart : public UploadJournal {
 public:
  EndAfterTheFirstPart(double end, std::atomic<double>& clock_ahead) : end_(end), clock_ahead_(clock_ahead) {}
  void OnBegin(const ResumableUpload&) override {}
  void OnPart(const UploadedPart&) override {
    while (WallClockSeconds() < end_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    // A cache is deaf to refusals for some seconds after it has loaded.
    clock_ahead_ = 10;
  }
  Status BeforePublish() override { return Status::Ok(); }

 private:
  const double end_;
  std::atomic<double>& clock_ahead_;
};

class EndedCredentialsTest : public testing::Test {
 protected:
  /// `credentials`: the server's file.
  void Start(const std::string& credentials) {
    const std::string path = folder_.path() + "/keys.yaml";
    ASSERT_THAT(WriteFileAtomically(path, credentials), IsOk());
    objectserver::ServeOptions serve;
    serve.buckets = {"test"};
    serve.credentials_file = path;
    server_ = *objectserver::ObjectServer::Start(serve);
    options_.endpoint = server_->url();
    options_.part_bytes = 5 * kMiB;
    options_.connections = 1;
  }

  /// What the signer loads: `first`, and from then on `second`.
  template <typename Credentials>
  std::function<Result<Credentials>()> Load(Credentials first, Credentials second) {
    return [this, first, second]() -> Result<Credentials> { return ++loads_ == 1 ? first : second; };
  }
  std::function<double()> Clock() {
    return [this] { return WallClockSeconds() + clock_ahead_; };
  }

  void ExpectAnUploadOutlivesThem(ObjectStore& store) {
    const Bytes bytes = AsBytes(content_);
    EndAfterTheFirstPart journal(end_, clock_ahead_);
    EXPECT_THAT(store.Write("k", std::span(&bytes, 1), {.journal = &journal}).status(), IsOk());
    EXPECT_EQ(loads_, 2);
    std::string read(content_.size(), '?');
    const auto memory = [&read](int64_t) { return std::as_writable_bytes(std::span(read)); };
    EXPECT_THAT(store.ReadWhole("k", memory, {}).status(), IsOk());
    EXPECT_TRUE(read == content_);
  }

  // Made before the time runs, in which a busy machine has begun the upload.
  const std::string content_ = RandomContent(22 * kMiB, 1);
  const Result<RsaKey> key_ = RsaKey::Generate(2048);
  const double end_ = WallClockSeconds() + 5;
  const TemporaryDirectory folder_ = *TemporaryDirectory::Create("assay-keys");
  std::unique_ptr<objectserver::ObjectServer> server_;
  StoreOptions options_;
  std::atomic<int> loads_ = 0;
  std::atomic<double> clock_ahead_ = 0;
};

TEST_F(EndedCredentialsTest, S3) {
  Start("keys:\n  - {access_key_id: first, secret_access_key: a, session_token: t1, expires: " + std::to_string(end_) +
        "}\n  - {access_key_id: second, secret_access_key: b, session_token: t2}\n");
  auto signer = std::make_unique<SigV4Signer>(
      SigV4SignerOptions{.region = "us-east-1"},
      Load(AwsCredentials{"first", "a", "t1", 0, "the test"}, AwsCredentials{"second", "b", "t2", 0, "the test"}),
      Clock());
  const auto address = S3Address::Make("test", options_.endpoint, "us-east-1");
  ASSERT_THAT(address.status(), IsOk());
  S3Store store(std::make_unique<S3Dialect>(*address, "us-east-1", options_), std::move(signer), options_);
  ExpectAnUploadOutlivesThem(store);
}

TEST_F(EndedCredentialsTest, Gcs) {
  Start("tokens:\n  - {token: first, expires: " + std::to_string(end_) + "}\n  - second\n");
  const GcsCredentials first = {.access_token = "first", .service_account = {}, .quota_project = {}, .source = "test"};
  GcsCredentials second = first;
  second.access_token = "second";
  auto signer = std::make_unique<GcsSigner>(Load(first, second), Clock());
  GcsStore store(std::make_unique<GcsDialect>(GcsUrls(options_.endpoint, "test"), options_), std::move(signer),
                 options_);
  ExpectAnUploadOutlivesThem(store);
}

TEST_F(EndedCredentialsTest, OciSession) {
  ASSERT_THAT(key_.status(), IsOk());
  const std::string pem = folder_.path() + "/public.pem";
  ASSERT_THAT(WriteFileAtomically(pem, key_->PublicPem()), IsOk());
  Start("oci_keys:\n  - {key_id: ST$first, public_key_file: " + pem + ", expires: " + std::to_string(end_) +
        "}\n  - {key_id: ST$second, public_key_file: " + pem + "}\n");
  auto signer = std::make_unique<OciSigner>(
      Load(OciCredentials{"ST$first", *key_, 0, "test"}, OciCredentials{"ST$second", *key_, 0, "test"}), Clock());
  OciStore store(std::make_unique<OciDialect>(OciUrls(options_.endpoint, "assay", "test"), options_), std::move(signer),
                 options_, "");
  ExpectAnUploadOutlivesThem(store);
}

}  // namespace
}  // namespace assay::storage
