// Conformance of the remote stores, against the embedded object server in this process.
#include "storage/conformance.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

ConformanceTarget Target(std::string name, std::string uri, Access access, bool presigns) {
  return {.name = std::move(name),
          .make =
              [uri = std::move(uri), access] {
                return std::make_unique<ServedStore>(uri, objectserver::ServeOptions(), StoreOptions(), access);
              },
          .presigns = presigns,
          .unfinished_bytes = 11 << 20};
}

// Without credentials only OCI presigns: its server keeps what it grants.
INSTANTIATE_TEST_SUITE_P(Served, ObjectStoreConformance,
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
