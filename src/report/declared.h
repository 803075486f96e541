// What the experiments of a result set declare about its coordinates and targets: the only place where reports learn
// what a property or a target means.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "experiment/experiment.h"
#include "samplestore/measurement.h"

namespace assay::report {

/// Coordinate that says which of several experiments a measurement is of ("full", "lora"), as they declare it.
inline constexpr std::string_view kMethod = "method";

/// Where two experiments declare one name, the one that was measured counts, then the one that the catalogue has first.
class Declared {
 public:
  Declared(std::span<const samplestore::Measurement> measurements, experiment::Experiments catalogue);

  /// Those that were measured, in the order of the catalogue.
  experiment::Experiments measured() const { return {all_.data(), measured_}; }
  /// These, and then the rest of the catalogue.
  const std::vector<const experiment::Experiment*>& all() const { return all_; }

  /// What nobody declares is shown by its name and has no role.
  const experiment::Shown& Of(std::string_view property) const;
  experiment::Role RoleOf(std::string_view property) const { return Of(property).role; }
  /// The property of `entity` with that role; empty when it has none.
  std::string PropertyOf(const space::Entity& entity, experiment::Role role) const;
  /// All that have one of the roles, whether they were measured or not.
  std::vector<std::string> PropertiesWith(std::span<const experiment::Role> roles) const;

  /// What people call a property: "max length" for model_max_length.
  std::string Label(std::string_view property) const;
  /// A coordinate as part of a label: names stand alone ("lora"), other values after their property ("batch size 4").
  std::string Text(std::string_view property, const space::Value& value) const;
  /// Whether `a` heads a table before `b`: the model, the method, what is compared, other names, numbers, each in the
  /// order in which they are declared; then what has no label, then the conditions.
  bool Before(const std::string& a, const std::string& b) const;

  /// "full" of finetune_full_benchmark-v1.0.0; the identifier itself of one that declares none.
  std::string MethodOf(std::string_view experiment) const;
  /// What other values of a property are compared with; None: nothing in particular.
  space::Value BaselineOf(std::string_view property) const;

 private:
  std::tuple<int, size_t, std::string> PlaceOf(const std::string& property) const;

  std::vector<const experiment::Experiment*> all_;
  size_t measured_ = 0;
  struct Entry {
    const experiment::PropertySpec* spec = nullptr;
    size_t place = 0;
  };
  std::map<std::string, Entry, std::less<>> properties_;
};

}  // namespace assay::report
