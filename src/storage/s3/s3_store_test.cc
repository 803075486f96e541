// The S3 store against the embedded object server: the whole contract, and what a network and a store may do to it.
#include "storage/s3/s3_store.h"

#include <gmock/gmock.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "objectserver/server.h"
#include "storage/conformance.h"
#include "storage/transfer/observer.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

StoreOptions OptionsFor(const std::string& url) {
  StoreOptions options;
  options.endpoint = url;
  options.region = "us-east-1";
  options.anonymous = true;
  options.part_bytes = 5 * kMiB;
  return options;
}

/// A server of its own and a store on its bucket.
class ServedS3 : public StoreUnderTest {
 public:
  explicit ServedS3(bool trailing_checksums, const std::string& profile = "",
                    std::shared_ptr<RequestObserver> observer = nullptr) {
    objectserver::ServeOptions serve;
    serve.buckets = {"bucket"};
    serve.profile = profile;
    serve.seed = 7;
    auto server = objectserver::ObjectServer::Start(serve);
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
    StoreOptions options = OptionsFor(server_->url());
    options.trailing_checksums = trailing_checksums;
    options.stall_timeout_seconds = 1;
    options.observer = std::move(observer);
    auto store = OpenS3("bucket", options);
    EXPECT_THAT(store.status(), IsOk());
    store_ = *std::move(store);
  }
  ObjectStore& store() override { return *store_; }
  const std::string& url() const { return server_->url(); }

 private:
  std::unique_ptr<objectserver::ObjectServer> server_;
  std::unique_ptr<ObjectStore> store_;
};

INSTANTIATE_TEST_SUITE_P(S3, ObjectStoreConformance,
                         testing::Values(ConformanceTarget{.name = "trailer",
                                                           .make = [] { return std::make_unique<ServedS3>(true); },
                                                           .presigns = false,
                                                           .unfinished_bytes = 11 * kMiB}),
                         TargetName);

class CountingObserver : public RequestObserver {
 public:
  void OnRequest(const RequestRecord& record) override {
    const std::lock_guard lock(mutex_);
    ++requests_;
  }
  int requests() const { return requests_; }

 private:
  std::mutex mutex_;
  int requests_ = 0;
};

TEST(S3StoreTest, AMissingBucketIsNamed) {
  ServedS3 served(false);
  const auto store = OpenS3("elsewhere", OptionsFor(served.url()));
  ASSERT_THAT(store.status(), IsOk());
  const std::string content = "x";
  const Bytes buffers[] = {AsBytes(content)};
  const auto result = (*store)->Write("k", buffers, {});
  EXPECT_EQ(result.status().code(), ErrorCode::kNotFound);
  EXPECT_THAT(result.status().message(), HasSubstr("cannot write s3://elsewhere/k: 404 NoSuchBucket"));
}

TEST(S3StoreTest, AWholeReadAsksForTheSizeNowhereElse) {
  const auto observer = std::make_shared<CountingObserver>();
  ServedS3 served(false, "", observer);
  const std::string content = RandomContent(kMiB, 1);
  const Bytes buffers[] = {AsBytes(content)};
  ASSERT_THAT(served.store().Write("k", buffers, {}).status(), IsOk());
  std::string memory;
  const auto read = served.store().ReadWhole("k",
                                             [&memory](int64_t size) {
                                               memory.resize(static_cast<size_t>(size));
                                               return std::as_writable_bytes(std::span(memory));
                                             },
                                             {});
  ASSERT_THAT(read.status(), IsOk());
  EXPECT_EQ(memory, content);
  EXPECT_EQ(observer->requests(), 2);
}

}  // namespace
}  // namespace assay::storage
