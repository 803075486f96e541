// What measurements are described by, each word of it stored once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/status.h"
#include "samplestore/sql/connection.h"
#include "space/entity.h"

namespace assay::samplestore {

/// What a term says of the measurements that bear it.
enum class TermKind {
  kExperiment,     ///< base id
  kParameterized,  ///< parameterized id
  kOutcome,
  kEntity,      ///< constitutive property and its value, as JSON
  kParameter,   ///< overridden optional and its value, as JSON
  kProvenance,  ///< entry and text
  kDependency,  ///< of depends_on: name and text
  kTargets,     ///< names of the target properties, as a JSON list: what the measurement's values are, in their order
  kUnits,       ///< target to unit, as a JSON object
};

struct Term {
  TermKind kind = TermKind::kExperiment;
  std::string name;
  std::string value;
  auto operator<=>(const Term&) const = default;
};

/// What the value of a term says, once somebody read it: of an entity or a parameter a value, names of targets, units.
using TermContent =
    std::variant<std::monostate, space::Value, std::vector<std::string>, std::map<std::string, std::string>>;

struct KnownTerm {
  Term term;
  TermContent content;
};

/// The table `terms`: a thousand measurements of one machine bear the same entries of provenance, units and names of
/// targets, and a number of a few digits stands for each. Terms are never removed, so that those once seen are kept at
/// hand. As safe for threads as its connection.
class Dictionary {
 public:
  explicit Dictionary(Connection& connection) : connection_(connection) {}

  /// Adds those that are new. In a transaction where there may be several; when that fails, Forget().
  Status Add(std::span<const Term> terms);
  /// Whether Add has nothing to do.
  bool Knows(std::span<const Term> terms) const;
  void Forget();

  /// The id of a term that was added or found, else 0, which none has.
  int64_t IdOf(const Term& term) const;
  /// The same, looked up where it must be.
  Result<int64_t> Find(const Term& term);

  /// Makes the terms of these ids readable by At(), until the next Load.
  Status Load(std::span<const int64_t> ids);
  KnownTerm& At(int64_t id) { return terms_.at(id); }

 private:
  Result<int64_t> Insert(const Term& term, const std::string& digest);
  Result<int64_t> Select(const std::string& digest);
  void Keep(int64_t id, Term term);

  Connection& connection_;
  std::unordered_map<std::string, int64_t> ids_;  ///< by KeyOf()
  std::unordered_map<int64_t, KnownTerm> terms_;
};

/// Ids of terms as a column holds them: "3 17 205".
std::string IdsText(std::span<const int64_t> ids);
std::vector<int64_t> IdsFromText(std::string_view text);

}  // namespace assay::samplestore
