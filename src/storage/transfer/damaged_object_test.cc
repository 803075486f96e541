// Objects whose content is no longer what the store records of them.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "objectserver/server.h"
#include "objectserver/store.h"
#include "storage/conformance.h"
#include "storage/open.h"

namespace assay::storage {
namespace {

using testing::Each;

constexpr char kBucket[] = "test";

class DamagedObjectTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    objectserver::ServeOptions serve;
    serve.buckets = {kBucket};
    auto server = objectserver::ObjectServer::Start(serve);
    ASSERT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
    StoreOptions options;
    options.endpoint = server_->url();
    options.region = "us-east-1";
    options.anonymous = true;
    options.part_bytes = 5 * kMiB;
    auto opened = OpenStore(GetParam(), options);
    ASSERT_THAT(opened.status(), IsOk());
    store_ = opened->store;
  }

  /// An object with the bytes of one and all else of another.
  void PutDamaged(const std::string& key, int64_t size) {
    Put(key, RandomContent(size, 1));
    Put("another", RandomContent(size, 2));
    objectserver::ObjectRecord record = *server_->store().Find(kBucket, key).object;
    record.blob = server_->store().Find(kBucket, "another").object->blob;
    ASSERT_TRUE(server_->store().Put(kBucket, std::move(record), {}).ok());
  }

  void Put(const std::string& key, const std::string& content) {
    const Bytes bytes = AsBytes(content);
    ASSERT_THAT(store_->Write(key, std::span(&bytes, 1), {}).status(), IsOk());
  }

  std::unique_ptr<objectserver::ObjectServer> server_;
  std::shared_ptr<ObjectStore> store_;
};

TEST_P(DamagedObjectTest, EveryWholeReadNoticesIt) {
  for (const int64_t size : {int64_t{1000}, 11 * kMiB}) {
    PutDamaged("k", size);
    std::string memory(static_cast<size_t>(size), '?');
    const ReadPiece piece = {0, std::as_writable_bytes(std::span(memory))};
    const ObjectRead many[] = {{"k", piece}};
    std::vector<Status> statuses = store_->ReadMany(many, {});
    statuses.push_back(store_->Read("k", std::span(&piece, 1), {}).status());
    statuses.push_back(store_->ReadWhole("k", [&piece](int64_t) { return piece.memory; }, {}).status());
    EXPECT_THAT(statuses, Each(HasCode(ErrorCode::kIo))) << size;
    EXPECT_THAT(store_->ReadMany(many, {.verify = false}), Each(IsOk()));
  }
}

TEST_P(DamagedObjectTest, NothingIsComposedOfItThatPassesThroughHere) {
  const bool oci = std::string_view(GetParam()).starts_with("oci");
  if (!oci && !std::string_view(GetParam()).starts_with("s3")) {
    GTEST_SKIP() << "the service composes by itself";
  }
  PutDamaged("k", oci ? 17 * kMiB : 1000);
  const std::string sources[] = {"k", "k"};
  EXPECT_THAT(store_->Compose(sources, "whole", {}).status(), HasCode(ErrorCode::kIo));
  EXPECT_THAT(store_->Stat("whole").value(), testing::Eq(std::nullopt));
}

INSTANTIATE_TEST_SUITE_P(Served, DamagedObjectTest, testing::Values("s3://test/", "gs://test/", "oci://test@assay/"),
                         [](const auto& info) { return std::string(info.param).substr(0, 2); });

}  // namespace
}  // namespace assay::storage
