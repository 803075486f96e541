// Range headers of the object server: what is served lies within the object. Lines of an input: the header, the size of
// the object.
#include <algorithm>
#include <cstdint>
#include <string>

#include "fuzz_input.h"
#include "objectserver/query.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;  // NOLINT: the whole target is about it
  fuzz::Input input(data, size);
  const std::string_view header = input.Line();
  const int64_t bytes = objectserver::ParseNumber(input.Line()).value_or(10);
  const objectserver::RangeOutcome outcome = objectserver::ApplyRange(header, bytes);
  if (outcome.kind == objectserver::RangeOutcome::Kind::kPart) {
    fuzz::Require(outcome.range.offset >= 0 && outcome.range.length > 0, "a part has bytes");
    fuzz::Require(outcome.range.length <= bytes && outcome.range.offset <= bytes - outcome.range.length,
                  "a part lies within the object");
  }
  const objectserver::RangeOutcome larger = objectserver::ApplyRange(header, bytes + 1);
  fuzz::Require((outcome.kind == objectserver::RangeOutcome::Kind::kWhole) ==
                    (larger.kind == objectserver::RangeOutcome::Kind::kWhole),
                "whether a header is understood does not depend on the object");
  return 0;
}
