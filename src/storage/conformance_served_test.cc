// Conformance of the remote stores, against the embedded object server in this process.
#include "storage/conformance.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

ConformanceTarget Target(std::string name, std::string uri, bool presigns) {
  return {.name = std::move(name),
          .make = [uri = std::move(uri)] { return std::make_unique<ServedStore>(uri); },
          .presigns = presigns,
          .unfinished_bytes = 11 << 20};
}

INSTANTIATE_TEST_SUITE_P(Served, ObjectStoreConformance,
                         // Without credentials only OCI presigns: its server keeps what it grants.
                         testing::Values(Target("s3", "s3://test/", false), Target("gs", "gs://test/", false),
                                         Target("oci", "oci://test@assay/", true)),
                         TargetName);

}  // namespace
}  // namespace assay::storage
