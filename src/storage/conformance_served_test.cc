// Conformance of the remote stores, against the embedded object server in this process.
#include "objectserver/server.h"
#include "storage/conformance.h"
#include "storage/open.h"

namespace assay::storage {
namespace {

class ServedStore final : public StoreUnderTest {
 public:
  explicit ServedStore(const std::string& uri) {
    objectserver::ServeOptions serve;
    serve.buckets = {"test"};
    auto server = objectserver::ObjectServer::Start(serve);
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
    StoreOptions options;
    options.endpoint = server_->url();
    options.region = "us-east-1";
    options.anonymous = true;
    options.part_bytes = 5 << 20;
    auto opened = OpenStore(uri, options);
    EXPECT_THAT(opened.status(), IsOk());
    store_ = opened->store;
  }
  ObjectStore& store() override { return *store_; }

 private:
  std::unique_ptr<objectserver::ObjectServer> server_;
  std::shared_ptr<ObjectStore> store_;
};

ConformanceTarget Target(std::string name, std::string uri) {
  return {.name = std::move(name),
          .make = [uri = std::move(uri)] { return std::make_unique<ServedStore>(uri); },
          .presigns = false,
          .unfinished_bytes = 11 << 20};
}

INSTANTIATE_TEST_SUITE_P(Served, ObjectStoreConformance,
                         testing::Values(Target("s3", "s3://test/"), Target("gs", "gs://test/"),
                                         Target("oci", "oci://test@assay/")),
                         TargetName);

}  // namespace
}  // namespace assay::storage
