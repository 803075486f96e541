// The parts of a request that dialects read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::objectserver {

/// The decoded parameters of a query, in order.
class Query {
 public:
  /// Nothing when a '%' is not followed by two hexadecimal digits.
  static std::optional<Query> Parse(std::string_view text);

  /// The value of the first parameter of that name; of one without '=' it is empty.
  std::optional<std::string_view> Find(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name).has_value(); }
  std::string Get(std::string_view name) const { return std::string(Find(name).value_or("")); }
  const std::vector<std::pair<std::string, std::string>>& all() const { return parameters_; }

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

/// A range of bytes, both ends given.
struct ByteRange {
  int64_t offset = 0;
  int64_t length = 0;
};

/// How a Range header applies to `size` bytes. Malformed headers and lists of ranges ask for everything, as stores read
/// them.
struct RangeOutcome {
  enum class Kind { kWhole, kPart, kUnsatisfiable };
  Kind kind = Kind::kWhole;
  ByteRange range;
};
RangeOutcome ApplyRange(std::string_view header, int64_t size);

/// Nothing for text that is no decimal number of at most 18 digits.
std::optional<int64_t> ParseNumber(std::string_view text);

/// Seconds since 1970 of an HTTP date in any of the three forms (RFC 9110 section 5.6.7).
std::optional<int64_t> ParseHttpDate(std::string_view text);

/// "2026-01-31T12:00:00.123Z"
std::string IsoTimestamp(double unix_seconds);

}  // namespace assay::objectserver
