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
    options.own["conditional_writes"] = "yes";  // a trial would leave its objects where a lie kept them
    return options;
  }

  ServedStore served_;
  PersistentStore store_;
};

std::vector<ConformanceTarget> Targets() {
  std::vector<ConformanceTarget> targets;
  for (const ServedCase& served : kServedCases) {
    targets.push_back({.name = served.name,
                       .make = [&served] { return std::make_unique<LyingServedStore>(served.uri, served.access); },
                       .lists_uploads = false,
                       .lists_truly = false,
                       .presigns = served.presigns,
                       .large_bytes = 11 << 20});
  }
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Lying, ObjectStoreConformance, testing::ValuesIn(Targets()), TargetName);

}  // namespace
}  // namespace assay::storage
