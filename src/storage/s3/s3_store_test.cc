// The S3 store against the embedded object server: the whole contract, and what a network and a store may do to it.
#include "storage/s3/s3_store.h"

#include <gmock/gmock.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/text.h"
#include "storage/lying_store.h"
#include "storage/s3/s3_kind.h"
#include "storage/served_store.h"
#include "storage/transfer/observer.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

std::unique_ptr<StoreUnderTest> WithTrailers() {
  StoreOptions options;
  options.own["trailing_checksums"] = "true";
  return std::make_unique<ServedStore>("s3://test/", objectserver::ServeOptions(), options);
}

INSTANTIATE_TEST_SUITE_P(
    S3, ObjectStoreConformance,
    testing::Values(ConformanceTarget{
        .name = "trailer", .make = WithTrailers, .presigns = false, .unfinished_bytes = 11 * kMiB}),
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
  const ServedStore served("s3://test/");
  StoreOptions options;
  options.endpoint = served.url();
  options.region = "us-east-1";
  options.anonymous = true;
  const auto store = kS3Kind.open({"s3", "elsewhere", ""}, options);
  ASSERT_THAT(store.status(), IsOk());
  const std::string content = "x";
  const Bytes buffers[] = {AsBytes(content)};
  const auto result = (*store)->Write("k", buffers, {});
  EXPECT_EQ(result.status().code(), ErrorCode::kNotFound);
  EXPECT_THAT(result.status().message(), HasSubstr("cannot write s3://elsewhere/k: 404 NoSuchBucket"));
}

TEST(S3StoreTest, ACopyWithoutAnEtagIsNone) {
  LyingStore lying("s3://b/", [](const http::RequestHead& head, std::string_view) {
    http::ServerResponse answer = http::TextResponse(200, head.method == "PUT" ? "<CopyObjectResult/>" : "");
    answer.headers.Add("ETag", "e");
    return answer;
  });
  EXPECT_THAT(lying.store().Copy("from", "to", {}).status().message(), HasSubstr("names no etag"));
}

TEST(S3StoreTest, AWholeReadAsksForTheSizeNowhereElse) {
  const auto observer = std::make_shared<CountingObserver>();
  StoreOptions options;
  options.observer = observer;
  ServedStore served("s3://test/", {}, options);
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
