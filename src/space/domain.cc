#include "space/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "space/number.h"

namespace assay::space {
namespace {

constexpr double kMaxMembers = 4e18;

bool IsText(const Value& value) {
  return std::holds_alternative<std::string>(value);
}
bool IsBool(const Value& value) {
  return std::holds_alternative<bool>(value);
}

bool SameValue(const Value& a, const Value& b) {
  const std::optional<double> x = NumberOf(a);
  const std::optional<double> y = NumberOf(b);
  if (x && y) {
    return RoundTo10Decimals(*x) == RoundTo10Decimals(*y);
  }
  return a == b;
}

// Values off a command line have lost their quotes: a text member may come as a number or a bool.
bool Denotes(const Value& given, const Value& member) {
  return SameValue(given, member) || (IsText(member) && ToString(given) == std::get<std::string>(member));
}

Value CanonicalMember(const Value& value) {
  const std::optional<double> number = NumberOf(value);
  return number && std::holds_alternative<double>(value) ? NumberValue(*number) : value;
}

VariableType TypeOf(const std::vector<Value>& values) {
  if (std::all_of(values.begin(), values.end(), IsBool)) {
    return VariableType::kBinary;
  }
  const auto is_number = [](const Value& value) { return NumberOf(value).has_value(); };
  return std::all_of(values.begin(), values.end(), is_number) ? VariableType::kDiscrete : VariableType::kCategorical;
}

// Members of minimum, minimum + interval, ... below maximum. Rounding may put the last one on the maximum.
int64_t RangeSize(double minimum, double maximum, double interval) {
  auto count = static_cast<int64_t>(std::floor((maximum - minimum) / interval)) + 1;
  while (count > 0 && RoundTo10Decimals(minimum + static_cast<double>(count - 1) * interval) >= maximum) {
    --count;
  }
  return count;
}

std::string Quoted(const Value& value) {
  return IsText(value) ? fmt::format("'{}'", std::get<std::string>(value)) : ToString(value);
}

std::string Hint(const Value& value, const std::vector<Value>& members) {
  std::vector<std::string> names;
  for (const Value& member : members) {
    if (IsText(member)) {
      names.push_back(std::get<std::string>(member));
    }
  }
  const std::string nearest = NearestName(ToString(value), names);
  return nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

}  // namespace

std::string_view ToString(VariableType type) {
  constexpr std::string_view kNames[] = {"BINARY_VARIABLE_TYPE", "CATEGORICAL_VARIABLE_TYPE",
                                         "OPEN_CATEGORICAL_VARIABLE_TYPE", "DISCRETE_VARIABLE_TYPE",
                                         "CONTINUOUS_VARIABLE_TYPE"};
  return kNames[static_cast<int>(type)];
}

Result<Domain> Domain::Values(std::vector<Value> values) {
  if (values.empty()) {
    return Status::InvalidArgument("a domain needs at least one value");
  }
  Domain domain(TypeOf(values));
  for (const Value& value : values) {
    const Value member = CanonicalMember(value);
    const auto same = [&](const Value& other) { return SameValue(member, other); };
    if (std::none_of(domain.values_.begin(), domain.values_.end(), same)) {
      domain.values_.push_back(member);
    }
  }
  return domain;
}

Result<Domain> Domain::Range(double minimum, double maximum, std::optional<double> interval) {
  if (!std::isfinite(minimum) || !std::isfinite(maximum) || !(minimum < maximum)) {
    return Status::InvalidArgument(
        fmt::format("the range [{}, {}) is empty: its first number must be the smaller one", minimum, maximum));
  }
  if (interval && (!std::isfinite(*interval) || *interval <= 0)) {
    return Status::InvalidArgument(fmt::format("the interval must be above 0, not {}", *interval));
  }
  if (interval && (maximum - minimum) / *interval > kMaxMembers) {
    return Status::InvalidArgument(fmt::format("the interval {} is too small for the range", *interval));
  }
  Domain domain(interval ? VariableType::kDiscrete : VariableType::kContinuous);
  domain.minimum_ = minimum;
  domain.maximum_ = maximum;
  domain.interval_ = interval;
  return domain;
}

Domain Domain::Binary() {
  Domain domain(VariableType::kBinary);
  domain.values_ = {false, true};
  return domain;
}

Domain Domain::AnyText() {
  return Domain(VariableType::kOpenCategorical);
}

Domain Domain::AnyTextOrNone() {
  Domain domain = AnyText();
  domain.none_allowed_ = true;
  return domain;
}

std::optional<Value> Domain::Find(const Value& value) const {
  if (type_ == VariableType::kOpenCategorical) {
    if (value == Value()) {
      return none_allowed_ ? std::optional<Value>(value) : std::nullopt;
    }
    return ToString(value).empty() ? std::nullopt : std::optional<Value>(ToString(value));
  }
  if (!values_.empty()) {
    const std::optional<double> number = NumberOf(value);
    const bool as_bool = type_ == VariableType::kBinary && number && (*number == 0 || *number == 1);
    const Value given = as_bool ? Value(*number == 1) : value;
    const auto found = std::find_if(values_.begin(), values_.end(), [&](const Value& m) { return Denotes(given, m); });
    return found == values_.end() ? std::nullopt : std::optional<Value>(*found);
  }
  return FindInRange(value);
}

std::optional<Value> Domain::FindInRange(const Value& value) const {
  const std::optional<double> number = NumberOf(value);
  if (!number) {
    return std::nullopt;
  }
  const double rounded = RoundTo10Decimals(*number);
  if (rounded < RoundTo10Decimals(minimum_) || rounded >= RoundTo10Decimals(maximum_)) {
    return std::nullopt;
  }
  if (interval_) {
    const double nearest = minimum_ + std::round((rounded - minimum_) / *interval_) * *interval_;
    if (RoundTo10Decimals(nearest) != rounded) {
      return std::nullopt;
    }
  }
  return std::holds_alternative<int64_t>(value) ? value : NumberValue(rounded);
}

Result<Value> Domain::Canonical(const Value& value) const {
  if (std::optional<Value> member = Find(value)) {
    return *std::move(member);
  }
  if (type_ == VariableType::kOpenCategorical) {
    return Status::InvalidArgument("expected a text that is not empty");
  }
  return Status::InvalidArgument(fmt::format("{} is not in {}{}", Quoted(value), Describe(), Hint(value, values_)));
}

std::optional<int64_t> Domain::size() const {
  if (!values_.empty()) {
    return static_cast<int64_t>(values_.size());
  }
  return interval_ ? std::optional<int64_t>(RangeSize(minimum_, maximum_, *interval_)) : std::nullopt;
}

Value Domain::At(int64_t index) const {
  return values_.empty() ? NumberValue(minimum_ + static_cast<double>(index) * *interval_) : values_[index];
}

std::optional<int64_t> Domain::IndexOf(const Value& value) const {
  const std::optional<Value> member = Find(value);
  if (!member) {
    return std::nullopt;
  }
  if (values_.empty()) {
    return std::llround((*NumberOf(*member) - minimum_) / *interval_);
  }
  return std::find(values_.begin(), values_.end(), *member) - values_.begin();
}

Status Domain::CheckSubDomainOf(const Domain& other) const {
  const std::optional<int64_t> count = size();
  if (!count) {
    const bool text_inside = other.none_allowed_ || !none_allowed_;
    const bool range_inside = minimum_ >= other.minimum_ && maximum_ <= other.maximum_;
    const bool inside = type_ == other.type_ && (type_ == VariableType::kOpenCategorical ? text_inside : range_inside);
    return inside ? Status::Ok()
                  : Status::InvalidArgument(fmt::format("{} is not within {}", Describe(), other.Describe()));
  }
  // An arithmetic progression lies in another one, or in a range, exactly if its first, second and last members do.
  if (values_.empty() && other.values_.empty()) {
    for (const int64_t index : {int64_t{0}, std::min<int64_t>(1, *count - 1), *count - 1}) {
      ASSAY_RETURN_IF_ERROR(other.Canonical(At(index)).status());
    }
    return Status::Ok();
  }
  for (int64_t index = 0; index < *count; ++index) {
    ASSAY_RETURN_IF_ERROR(other.Canonical(At(index)).status());
  }
  return Status::Ok();
}

std::string Domain::Describe(size_t max_values) const {
  if (type_ == VariableType::kOpenCategorical) {
    return none_allowed_ ? "None or any text" : "any text";
  }
  if (values_.empty()) {
    const std::string range = fmt::format("[{}, {})", ToString(Value(minimum_)), ToString(Value(maximum_)));
    return interval_ ? fmt::format("{} step {}", range, ToString(Value(*interval_))) : range;
  }
  std::string text = "{";
  for (size_t i = 0; i < std::min(values_.size(), max_values); ++i) {
    text += (i == 0 ? "" : ", ") + ToString(values_[i]);
  }
  return text + (values_.size() > max_values ? fmt::format(", ... {} values}}", values_.size()) : "}");
}

}  // namespace assay::space
