// Conformance of the remote stores, against the embedded object server in this process.
#include "storage/conformance.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

std::vector<ConformanceTarget> Targets() {
  std::vector<ConformanceTarget> targets;
  std::vector<ServedCase> cases(std::begin(kServedCases), std::end(kServedCases));
  cases.push_back(kKmsCase);
  for (const ServedCase& served : cases) {
    targets.push_back({.name = served.name,
                       .make =
                           [served] {
                             return std::make_unique<ServedStore>(served.uri, objectserver::ServeOptions(),
                                                                  OptionsOf(served), served.access);
                           },
                       .presigns = served.presigns,
                       .unfinished_bytes = 11 << 20});
  }
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Served, ObjectStoreConformance, testing::ValuesIn(Targets()), TargetName);

}  // namespace
}  // namespace assay::storage
