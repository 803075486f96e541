// Credentials that end in the middle of a transfer: the real signer against a server that checks signatures.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "objectserver/server.h"
#include "storage/auth/sigv4_signer.h"
#include "storage/auth/time_format.h"
#include "storage/conformance.h"
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

TEST(S3CredentialsTest, AnUploadOutlivesTheOnesItBeganWith) {
  const double end = WallClockSeconds() + 1;
  const TemporaryDirectory folder = *TemporaryDirectory::Create("assay-keys");
  const std::string path = folder.path() + "/keys.yaml";
  std::ofstream(path) << "keys:\n"
                      << "  - {access_key_id: first, secret_access_key: a, session_token: t1, expires: "
                      << std::to_string(end) << "}\n"
                      << "  - {access_key_id: second, secret_access_key: b, session_token: t2}\n";
  objectserver::ServeOptions serve;
  serve.buckets = {"test"};
  serve.credentials_file = path;
  const auto server = objectserver::ObjectServer::Start(serve);
  ASSERT_THAT(server.status(), IsOk());

  std::atomic<int> loads = 0;
  std::atomic<double> clock_ahead = 0;
  auto signer = std::make_unique<SigV4Signer>(
      SigV4SignerOptions{.region = "us-east-1"},
      [&loads]() -> Result<AwsCredentials> {
        return ++loads == 1 ? AwsCredentials{"first", "a", "t1", 0, "the test"}
                            : AwsCredentials{"second", "b", "t2", 0, "the test"};
      },
      [&clock_ahead] { return WallClockSeconds() + clock_ahead; });
  StoreOptions options;
  options.endpoint = (*server)->url();
  options.part_bytes = 5 * kMiB;
  options.connections = 1;
  const auto address = S3Address::Make("test", options.endpoint, "us-east-1", options);
  ASSERT_THAT(address.status(), IsOk());
  S3Store store(std::make_unique<S3Dialect>(*address, "us-east-1", options), std::move(signer), options);

  const std::string content = RandomContent(22 * kMiB, 1);
  const Bytes bytes = AsBytes(content);
  EndAfterTheFirstPart journal(end, clock_ahead);
  EXPECT_THAT(store.Write("k", std::span(&bytes, 1), {.journal = &journal}).status(), IsOk());
  EXPECT_EQ(loads, 2);
  std::string read(content.size(), '?');
  EXPECT_THAT(store.ReadWhole("k", [&read](int64_t) { return std::as_writable_bytes(std::span(read)); }, {}).status(),
              IsOk());
  EXPECT_TRUE(read == content);
}

}  // namespace
}  // namespace assay::storage
