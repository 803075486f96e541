// The YAML of discovery spaces: a space that is read has points that can be counted, or too many.
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "space/discovery_space.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;  // NOLINT: the whole target is about it
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<space::DiscoverySpace> space = space::ParseDiscoverySpace(text, "space.yaml");
  if (!space.ok()) {
    fuzz::Require(space.status().message().starts_with("space.yaml"), "an error names the file");
    return 0;
  }
  const Result<int64_t> points = space->PointCount();
  fuzz::Require(!points.ok() || *points > 0, "a space has points");
  return 0;
}
