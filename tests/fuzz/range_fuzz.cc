// Range headers of the object server: what is served is what was asked for, of positions of any number of digits. Lines
// of an input: the header, the size of the object.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "objectserver/query.h"

namespace {

using namespace assay;
using objectserver::RangeOutcome;

/// A position is no number but its digits, so that none is too large to be compared.
struct Position {
  std::string_view digits;  ///< without leading zeros

  bool operator<(const Position& other) const {
    return digits.size() != other.digits.size() ? digits.size() < other.digits.size() : digits < other.digits;
  }
};

/// Nothing for text that is no number.
std::optional<Position> PositionOf(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  return Position{text};
}

struct Asked {
  std::optional<Position> first;
  std::optional<Position> last;
};

/// Nothing for what is no range.
std::optional<Asked> ReadHeader(std::string_view header) {
  constexpr std::string_view kUnit = "bytes=";
  const size_t dash = header.find('-');
  if (!header.starts_with(kUnit) || dash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view first = header.substr(kUnit.size(), dash - kUnit.size());
  const std::string_view last = header.substr(dash + 1);
  const Asked asked = {PositionOf(first), PositionOf(last)};
  const bool one_is_none = (!first.empty() && !asked.first) || (!last.empty() && !asked.last);
  return one_is_none || (!asked.first && !asked.last) ? std::nullopt : std::optional(asked);
}

/// `position`, or `most` where that is less.
int64_t NoMoreThan(const Position& position, int64_t most) {
  const std::string digits = std::to_string(most);
  return position < Position{digits} ? objectserver::ParseNumber(position.digits).value_or(0) : most;
}

void RequirePart(const RangeOutcome& outcome, int64_t offset, int64_t length) {
  fuzz::Require(outcome.kind == RangeOutcome::Kind::kPart, "a part of the object is served");
  fuzz::Require(outcome.range.offset == offset && outcome.range.length == length, "it is the part that was asked for");
}

void Check(const Asked& asked, int64_t bytes, const RangeOutcome& outcome) {
  if (!asked.first) {
    const int64_t length = NoMoreThan(*asked.last, bytes);
    if (length > 0) {
      RequirePart(outcome, bytes - length, length);
    }
  } else if (NoMoreThan(*asked.first, bytes) == bytes) {
    fuzz::Require(outcome.kind != RangeOutcome::Kind::kPart, "there is nothing beyond the end");
  } else if (asked.last && *asked.last < *asked.first) {
    fuzz::Require(outcome.kind == RangeOutcome::Kind::kWhole, "what ends before it begins is no range");
  } else {
    const int64_t first = NoMoreThan(*asked.first, bytes);
    RequirePart(outcome, first, (asked.last ? NoMoreThan(*asked.last, bytes - 1) : bytes - 1) - first + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const std::string_view header = input.Line();
  const int64_t bytes = objectserver::ParseNumber(input.Line()).value_or(10);
  const RangeOutcome outcome = objectserver::ApplyRange(header, bytes);
  if (const std::optional<Asked> asked = ReadHeader(header)) {
    Check(*asked, bytes, outcome);
  } else {
    fuzz::Require(outcome.kind == RangeOutcome::Kind::kWhole, "what is no range asks for everything");
  }
  return 0;
}
