// Conformance of what a web store does, reading: objects are written by S3's interface of the embedded server, and read
// as files of a web server.
#include <map>
#include <memory>
#include <string>

#include "http/message.h"
#include "storage/conformance.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

std::string AsUrl(const std::string& key) {
  return http::PercentEncode(key, "/");
}

class ReadFromWeb final : public ForwardingStore {
 public:
  ReadFromWeb(std::shared_ptr<ObjectStore> written, std::shared_ptr<ObjectStore> web)
      : ForwardingStore(std::move(written)), web_(std::move(web)) {}

  Result<std::optional<ObjectInfo>> Stat(const std::string& key, CancelFlag cancel = nullptr) override {
    auto info = web_->Stat(AsUrl(key), cancel);
    if (info.ok() && *info) {
      EXPECT_EQ((*info)->key, AsUrl(key));
      (*info)->key = key;
    }
    return info;
  }
  Result<ObjectInfo> Read(const std::string& key, std::span<const ReadPiece> pieces,
                          const ReadOptions& options) override {
    return web_->Read(AsUrl(key), pieces, options);
  }
  Result<ObjectInfo> ReadWhole(const std::string& key, const std::function<MutableBytes(int64_t size)>& allocate,
                               const ReadOptions& options) override {
    return web_->ReadWhole(AsUrl(key), allocate, options);
  }
  std::vector<Status> ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) override {
    std::vector<ObjectRead> asked(reads.begin(), reads.end());
    for (ObjectRead& read : asked) {
      read.key = AsUrl(read.key);
    }
    return web_->ReadMany(asked, options);
  }

 private:
  const std::shared_ptr<ObjectStore> web_;
};

class WebUnderTest final : public StoreUnderTest {
 public:
  explicit WebUnderTest(objectserver::ServeOptions serve = {}) : served_("s3://test/", std::move(serve)) {
    StoreOptions options;
    options.part_bytes = 5 << 20;
    auto web = OpenStore(served_.url() + "/test/", options);
    EXPECT_THAT(web.status(), IsOk());
    store_ =
        std::make_unique<ReadFromWeb>(std::shared_ptr<ObjectStore>(&served_.store(), [](ObjectStore*) {}), web->store);
  }
  ObjectStore& store() override { return *store_; }
  std::optional<int64_t> bytes_sent() override { return served_.bytes_sent(); }

 private:
  ServedStore served_;
  std::unique_ptr<ObjectStore> store_;
};

INSTANTIATE_TEST_SUITE_P(Web, ObjectStoreConformance,
                         testing::Values(ConformanceTarget{.name = "http",
                                                           .make = [] { return std::make_unique<WebUnderTest>(); },
                                                           .keeps_dot_parts = false,
                                                           .presigns = false,
                                                           .unfinished_bytes = 11 << 20}),
                         TargetName);

}  // namespace
}  // namespace assay::storage
