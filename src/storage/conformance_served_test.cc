// Conformance of the remote stores, against the embedded object server in this process.
#include "storage/conformance.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

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
