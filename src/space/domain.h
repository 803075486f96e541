// Domains: which values a property may take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "space/entity.h"

namespace assay::space {

enum class VariableType {
  kBinary,           ///< True or False; 1 and 0 are read as these
  kCategorical,      ///< one of a list of values
  kOpenCategorical,  ///< any text
  kDiscrete,         ///< one of a list of numbers, or a range with an interval
  kContinuous,       ///< any number of a half-open range
};

/// "BINARY_VARIABLE_TYPE", ...: the names that space files use.
std::string_view ToString(VariableType type);

/// An immutable set of values. Numbers are compared after rounding to 10 decimals, so 0.1 + 0.2 is in {0.3}.
class Domain {
 public:
  /// The list as given, duplicates removed. Binary if all are bools, discrete if all are numbers, else categorical.
  /// Fails on an empty list.
  static Result<Domain> Values(std::vector<Value> values);
  /// [minimum, maximum). With an interval: minimum, minimum + interval, ...; without one: continuous. Fails when the
  /// range is empty or the interval is not positive.
  static Result<Domain> Range(double minimum, double maximum, std::optional<double> interval);
  static Domain Binary();
  static Domain AnyText();
  /// Any text, or None.
  static Domain AnyTextOrNone();

  VariableType type() const { return type_; }

  /// The member that `value` denotes, in the form that ids use (4.0 is 4, 1 is True in a binary domain), or an error
  /// that names the value and the domain.
  Result<Value> Canonical(const Value& value) const;
  bool Contains(const Value& value) const { return Canonical(value).ok(); }

  /// How many members there are; nullopt for a domain that cannot be enumerated.
  std::optional<int64_t> size() const;
  /// Member `index` in order: lists as given, ranges ascending, False before True. Requires size() > index.
  Value At(int64_t index) const;
  /// The inverse: nullopt for what is no member. Requires size().
  std::optional<int64_t> IndexOf(const Value& value) const;

  /// An error that names a member of this domain that `other` does not have.
  Status CheckSubDomainOf(const Domain& other) const;

  /// For people: "{512, 1024}", "[1, 4097) step 1", "{False, True}", "any text", "None or any text". Of a longer list
  /// only the first values and how many there are, so that a message stays one line.
  std::string Describe() const { return Describe(kMaxDescribed); }
  /// With every value.
  std::string DescribeInFull() const { return Describe(values_.size()); }

 private:
  explicit Domain(VariableType type) : type_(type) {}
  std::optional<Value> Find(const Value& value) const;
  std::optional<Value> FindInRange(const Value& value) const;
  std::string Describe(size_t max_values) const;

  static constexpr size_t kMaxDescribed = 12;

  VariableType type_;
  bool none_allowed_ = false;  ///< beside any text
  std::vector<Value> values_;
  double minimum_ = 0;
  double maximum_ = 0;
  std::optional<double> interval_;
};

/// A named dimension of a space.
struct Property {
  std::string identifier;
  Domain domain;
  std::string where;  ///< "space.yaml:7" when it was read from a file, else empty
};

}  // namespace assay::space
