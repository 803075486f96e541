#include "space/number.h"

#include <cmath>

namespace assay::space {
namespace {

constexpr double kScale = 1e10;
// Above it a double has fewer than 10 decimals, and scaling would lose digits.
constexpr double kLargestWithDecimals = 9e5;
constexpr double kLargestExactInteger = 9007199254740992.0;

}  // namespace

double RoundTo10Decimals(double value) {
  return std::abs(value) < kLargestWithDecimals ? std::round(value * kScale) / kScale : value;
}

std::optional<double> NumberOf(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&value); number != nullptr && std::isfinite(*number)) {
    return *number;
  }
  return std::nullopt;
}

Value NumberValue(double number) {
  const double rounded = RoundTo10Decimals(number);
  if (rounded == std::floor(rounded) && std::abs(rounded) <= kLargestExactInteger) {
    return static_cast<int64_t>(rounded);
  }
  return rounded;
}

}  // namespace assay::space
