// Conformance of the remote stores through a server that lies: who tries again what ended with an error finds the same
// contract, for no operation ends well with anything else.
#include "storage/conformance.h"
#include "storage/persistent_store.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

class LyingServedStore final : public StoreUnderTest {
 public:
  LyingServedStore(const std::string& uri, Access access)
      : served_(uri, Serve(), Options(), access),
        store_(std::shared_ptr<ObjectStore>(&served_.store(), [](ObjectStore*) {})) {}
  ObjectStore& store() override { return store_; }

 private:
  static objectserver::ServeOptions Serve() {
    objectserver::ServeOptions serve;
    serve.profile = std::string(ASSAY_SOURCE_DIR) + "/share/profiles/lying.yaml";
    serve.seed = 11;
    return serve;
  }
  static StoreOptions Options() {
    StoreOptions options;
    // A request that is given up may still be carried out, later than what comes after it: none is, on a slow machine.
    options.stall_timeout_seconds = 60;
    options.conditional_writes = ConditionalWrites::kYes;  // a trial would leave its objects where a lie kept them
    return options;
  }

  ServedStore served_;
  PersistentStore store_;
};

ConformanceTarget Target(std::string name, std::string uri, Access access, bool presigns) {
  return {.name = std::move(name),
          .make = [uri = std::move(uri), access] { return std::make_unique<LyingServedStore>(uri, access); },
          .lists_uploads = false,
          .lists_truly = false,
          .presigns = presigns,
          .large_bytes = 11 << 20};
}

INSTANTIATE_TEST_SUITE_P(Lying, ObjectStoreConformance,
                         testing::Values(Target("s3", "s3://test/", Access::kAnonymous, false),
                                         Target("gs", "gs://test/", Access::kAnonymous, false),
                                         Target("oci", "oci://test@assay/", Access::kAnonymous, true),
                                         Target("s3_keys", "s3://test/", Access::kKeys, true),
                                         Target("gs_token", "gs://test/", Access::kKeys, true),
                                         Target("gs_hmac", "gs://test/", Access::kHmacKeys, true),
                                         Target("oci_key", "oci://test@assay/", Access::kKeys, true)),
                         TargetName);

}  // namespace
}  // namespace assay::storage
