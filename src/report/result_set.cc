#include "report/result_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "base/text.h"
#include "report/conditions.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;
using space::Value;

constexpr size_t kHashChars = 12;

int TypeRank(const Value& value) {
  constexpr std::array ranks = {0, 1, 2, 2, 3};  // None, bool, int64_t and double together, text
  return ranks[value.index()];
}

double AsNumber(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  return std::get<double>(value);
}

// "stop_after_seconds.30" from "finetune_full_benchmark-v1.0.0-stop_after_seconds.30".
std::string OverriddenParameters(std::string_view experiment, std::string_view id) {
  if (!id.starts_with(experiment)) {
    return std::string(id);
  }
  id.remove_prefix(experiment.size());
  if (id.starts_with('-')) {
    id.remove_prefix(1);
  }
  return std::string(id);
}

const std::string& Name(const std::pair<const std::string, Value>& property) {
  return property.first;
}

void SetParameters(std::string_view experiment, std::string_view id, space::Entity& coordinates) {
  if (std::string parameters = OverriddenParameters(experiment, id); !parameters.empty()) {
    coordinates.emplace(kParameters, std::move(parameters));
  }
}

}  // namespace

bool ValueLess(const Value& a, const Value& b) {
  if (TypeRank(a) != TypeRank(b)) {
    return TypeRank(a) < TypeRank(b);
  }
  return TypeRank(a) == 2 ? AsNumber(a) < AsNumber(b) : a < b;
}

const Value& Configuration::At(std::string_view property) const {
  static const Value kNone;
  const auto found = coordinates.find(std::string(property));
  return found == coordinates.end() ? kNone : found->second;
}

std::vector<const Measurement*> Configuration::ValidRuns() const {
  std::vector<const Measurement*> valid;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(valid),
               [](const Measurement* run) { return run->outcome == Outcome::kValid; });
  return valid;
}

std::vector<const Measurement*> Configuration::CountedRuns() const {
  std::vector<const Measurement*> valid = ValidRuns();
  if (valid.size() < 2) {
    return valid;  // starved or not, it is the only one
  }
  std::vector<const Measurement*> counted;
  std::ranges::copy_if(valid, std::back_inserter(counted), [](const Measurement* run) { return !WasStarved(*run); });
  return counted.empty() ? valid : counted;
}

bool Configuration::IsStarved() const {
  bool starved = false;
  for (const Measurement* run : runs) {
    if (run->outcome == Outcome::kValid) {
      starved = WasStarved(*run);
      if (!starved) {
        return false;
      }
    }
  }
  return starved;
}

std::string_view Configuration::reason() const {
  return outcome == Outcome::kValid ? std::string_view() : std::string_view(runs.back()->reason);
}

uint32_t Axis::CodeOf(const Value& value) const {
  const auto at = std::lower_bound(values.begin(), values.end(), value, &ValueLess);
  return static_cast<uint32_t>(at == values.end() || ValueLess(value, *at) ? values.size() : at - values.begin());
}

bool Axis::IsNumeric() const {
  constexpr int kNumber = 2;
  return std::ranges::all_of(values, [](const Value& value) { return TypeRank(value) == kNumber; });
}

std::vector<UnmeasuredPoint> UnmeasuredPointsOf(std::span<const experiment::BoundPoint> points) {
  std::vector<UnmeasuredPoint> unmeasured;
  for (const experiment::BoundPoint& point : points) {
    unmeasured.push_back({.experiment = std::string(point.experiment->id()),
                          .parameterized_id = point.parameterized_id,
                          .entity = point.entity});
  }
  return unmeasured;
}

ResultSet::ResultSet(std::span<const Measurement> measurements, experiment::Experiments catalogue,
                     std::span<const UnmeasuredPoint> unmeasured)
    : measurements_(measurements), declared_(measurements, catalogue) {
  NameTargets();
  GroupRuns();
  AddUnmeasured(unmeasured);
  NameMethods();
  FindVarying();
  StateWeights();
  StateTokenizers();
  Order(configurations_);
  Order(unmeasured_);
  for (size_t i = 0; i < configurations_.size(); ++i) {
    configurations_[i].index = i;
  }
  CodeAxes();
}

void ResultSet::Order(std::vector<Configuration>& configurations) const {
  // By the places of their values: a name is looked up once, not in each comparison.
  std::vector<std::pair<std::vector<uint32_t>, size_t>> places(configurations.size());
  for (size_t i = 0; i < configurations.size(); ++i) {
    places[i].second = i;
  }
  for (const Axis& axis : axes_) {
    for (size_t i = 0; i < configurations.size(); ++i) {
      places[i].first.push_back(axis.CodeOf(configurations[i].At(axis.property)));
    }
  }
  std::ranges::sort(places);
  std::vector<Configuration> ordered;
  for (const auto& [codes, place] : places) {
    ordered.push_back(std::move(configurations[place]));
  }
  configurations = std::move(ordered);
}

void ResultSet::CodeAxes() {
  for (Axis& axis : axes_) {
    for (const Configuration& configuration : configurations_) {
      axis.codes.push_back(axis.CodeOf(configuration.At(axis.property)));
    }
    for (const Configuration& point : unmeasured_) {
      axis.unmeasured.push_back(axis.CodeOf(point.At(axis.property)));
    }
  }
}

const Axis* ResultSet::AxisOf(std::string_view property) const {
  const auto found = std::ranges::find(axes_, property, &Axis::property);
  return found == axes_.end() ? nullptr : &*found;
}

void ResultSet::ForEach(const std::function<void(const Configuration&)>& visit) const {
  std::ranges::for_each(configurations_, visit);
  std::ranges::for_each(unmeasured_, visit);
}

void ResultSet::AddUnmeasured(std::span<const UnmeasuredPoint> points) {
  for (const UnmeasuredPoint& point : points) {
    Configuration& added = unmeasured_.emplace_back();
    added.coordinates = point.entity;
    added.coordinates.emplace(kMethod, point.experiment);
    SetParameters(point.experiment, point.parameterized_id, added.coordinates);
  }
}

// Short names are used only while they tell the experiments apart.
void ResultSet::NameMethods() {
  std::map<std::string, std::string> names;
  std::set<std::string> distinct;
  ForEach([&](const Configuration& configuration) {
    const std::string experiment = space::ToString(configuration.At(kMethod));
    names.emplace(experiment, declared_.MethodOf(experiment));
  });
  for (const auto& [experiment, name] : names) {
    distinct.insert(name);
  }
  if (distinct.size() < names.size()) {
    return;
  }
  const auto rename = [&](Configuration& configuration) {
    Value& method = configuration.coordinates.at(std::string(kMethod));
    method = names.at(std::get<std::string>(method));
  };
  std::ranges::for_each(configurations_, rename);
  std::ranges::for_each(unmeasured_, rename);
}

void ResultSet::NameTargets() {
  const Measurement* last = nullptr;
  for (const Measurement& run : measurements_) {
    // Neighbours mostly have the same ones.
    const bool is_known = last != nullptr && std::ranges::equal(run.properties, last->properties, {}, Name, Name);
    if (run.outcome != Outcome::kValid || is_known) {
      continue;
    }
    std::ranges::transform(run.properties, std::inserter(targets_, targets_.end()), Name);
    last = &run;
  }
}

std::vector<const experiment::TargetSpec*> ResultSet::TargetsOf(experiment::Quantity kind) const {
  std::vector<const experiment::TargetSpec*> targets = experiment::TargetsOf(declared_.all(), kind);
  std::erase_if(targets, [&](const experiment::TargetSpec* target) { return !Has(target->name); });
  return targets;
}

void ResultSet::GroupRuns() {
  conditions_ = SeparatingConditions(measurements_, declared_);
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> of_point;
  // A run that never started knows few of its conditions: it joins those that do.
  for (const bool valid : {true, false}) {
    for (const Measurement& run : measurements_) {
      if ((run.outcome == Outcome::kValid) == valid) {
        AddRun(run, of_point[{run.parameterized_id, run.entity_id}]);
      }
    }
  }
  measured_points_ = of_point.size();
  for (Configuration& configuration : configurations_) {
    configuration.coordinates.emplace(kMethod, configuration.runs.front()->experiment);
    std::stable_sort(configuration.runs.begin(), configuration.runs.end(),
                     [](const Measurement* a, const Measurement* b) { return a->measured_at < b->measured_at; });
    configuration.outcome = configuration.ValidRuns().empty() ? configuration.runs.back()->outcome : Outcome::kValid;
  }
}

void ResultSet::AddRun(const Measurement& run, std::vector<size_t>& of_point) {
  const Conditions conditions = ConditionsOf(run, conditions_);
  const auto found = std::find_if(of_point.begin(), of_point.end(), [&](size_t at) {
    const Conditions others = ConditionsOf(*configurations_[at].runs.front(), conditions_);
    return run.outcome == Outcome::kValid ? conditions == others : Agree(conditions, others);
  });
  if (found != of_point.end()) {
    configurations_[*found].runs.push_back(&run);
    return;
  }
  of_point.push_back(configurations_.size());
  Configuration& added = configurations_.emplace_back();
  added.runs.push_back(&run);
  added.coordinates = run.entity;
  SetParameters(run.experiment, run.parameterized_id, added.coordinates);
  for (const auto& [key, value] : conditions) {
    added.coordinates.emplace(key, key.ends_with("_hash") ? value.substr(0, kHashChars) : value);
  }
}

void ResultSet::FindVarying() {
  std::set<std::string> names;
  ForEach([&](const Configuration& configuration) {
    for (const auto& [property, value] : configuration.coordinates) {
      names.insert(property);
    }
  });
  std::vector<std::string> ordered(names.begin(), names.end());
  std::ranges::sort(ordered, [&](const std::string& a, const std::string& b) { return declared_.Before(a, b); });
  for (const std::string& property : ordered) {
    if (ValuesOf(property).size() > 1 && !FollowsMethod(property)) {
      varying_.push_back(property);
      ShortenPaths(property);
      axes_.push_back({.property = property, .values = ValuesOf(property), .codes = {}, .unmeasured = {}});
    } else {
      AddConstant(property);
    }
  }
}

// A LoRA rank exists beside one method only, and an experiment's own parameters differ from another's: neither is a
// dimension of its own, and treating it as one would leave no two points that differ in the method alone.
bool ResultSet::FollowsMethod(const std::string& property) const {
  std::map<std::string, std::set<std::string>> values_of_method;
  bool absent_somewhere = property == kParameters;
  ForEach([&](const Configuration& configuration) {
    const bool present = configuration.coordinates.contains(property);
    absent_somewhere = absent_somewhere || !present;
    values_of_method[space::ToString(configuration.At(kMethod))].insert(
        present ? space::ToString(configuration.At(property)) : std::string());
  });
  return property != kMethod && absent_somewhere && values_of_method.size() > 1 &&
         std::all_of(values_of_method.begin(), values_of_method.end(),
                     [](const auto& entry) { return entry.second.size() == 1; });
}

void ResultSet::AddConstant(const std::string& property) {
  if (const std::vector<Value> values = ValuesOf(property); values.size() == 1) {
    constants_.emplace_back(property, space::ToString(values.front()));
    return;
  }
  std::set<std::string> told;
  ForEach([&](const Configuration& configuration) {
    const std::string method = space::ToString(configuration.At(kMethod));
    if (configuration.coordinates.contains(property) && told.insert(method).second) {
      constants_.emplace_back(fmt::format("{} ({})", property, method), space::ToString(configuration.At(property)));
    }
  });
}

// Random weights train as fast as real ones and mean nothing: every table says which they are.
void ResultSet::StateWeights() {
  for (const Measurement& run : measurements_) {
    if (const std::string& weights = ProvenanceOf(run, "weights"); !weights.empty() && !Varies("weights")) {
      constants_.emplace_back("weights", weights);
      return;
    }
  }
}

// Ids of another tokeniser mean other rows, and a folder without one is given this project's: which it was is said.
void ResultSet::StateTokenizers() {
  std::set<std::string> names;
  for (const Measurement& run : measurements_) {
    names.insert(ProvenanceOf(run, "tokenizer"));
  }
  names.erase("");
  if (!names.empty()) {
    constants_.emplace_back(names.size() == 1 ? "tokenizer" : "tokenizers",
                            Join(std::vector<std::string>(names.begin(), names.end()), "; "));
  }
}

bool ResultSet::Varies(std::string_view property) const {
  return std::find(varying_.begin(), varying_.end(), property) != varying_.end();
}

std::vector<Value> ResultSet::ValuesOf(std::string_view property) const {
  if (const Axis* axis = AxisOf(property)) {
    return axis->values;
  }
  const bool is_condition = std::ranges::find(conditions_, property) != conditions_.end();
  std::set<Value, decltype(&ValueLess)> values(&ValueLess);
  std::ranges::for_each(configurations_,
                        [&](const Configuration& configuration) { values.insert(configuration.At(property)); });
  // What was not measured has no machine: that is no further value.
  if (!is_condition) {
    std::ranges::for_each(unmeasured_, [&](const Configuration& point) { values.insert(point.At(property)); });
  }
  return {values.begin(), values.end()};
}

std::string ResultSet::Label(const Configuration& configuration, std::string_view separator) const {
  std::vector<std::string> parts;
  for (const std::string& property : varying_.empty() ? AskedForFirst(configuration) : varying_) {
    parts.push_back(declared_.Text(property, configuration.At(property)));
  }
  return Join(parts, separator);
}

std::vector<std::string> ResultSet::AskedForFirst(const Configuration& configuration) const {
  using experiment::Role;
  std::vector<std::string> properties = {std::string(kMethod)};
  for (const Role role : {Role::kModel, Role::kSeries, Role::kLength, Role::kBatchSize}) {
    if (std::string property = declared_.PropertyOf(configuration.coordinates, role); !property.empty()) {
      properties.push_back(std::move(property));
    }
  }
  std::ranges::sort(properties, [&](const std::string& a, const std::string& b) { return declared_.Before(a, b); });
  return properties;
}

std::string ResultSet::VaryingWith(experiment::Role role) const {
  const auto found =
      std::ranges::find(varying_, role, [&](const std::string& property) { return declared_.RoleOf(property); });
  return found == varying_.end() ? "" : *found;
}

void ResultSet::ShortenPaths(const std::string& property) {
  std::map<std::string, std::string> last_parts;
  std::set<std::string> distinct;
  for (const Value& value : ValuesOf(property)) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
      return;
    }
    const std::string_view path = std::string_view(*text).substr(0, text->find_last_not_of('/') + 1);
    distinct.insert(last_parts[*text] = path.substr(path.rfind('/') + 1));
  }
  if (distinct.size() < last_parts.size()) {
    return;
  }
  const auto shorten = [&](Configuration& configuration) {
    Value& value = configuration.coordinates[property];
    value = last_parts.at(std::get<std::string>(value));
  };
  std::ranges::for_each(configurations_, shorten);
  if (std::ranges::find(conditions_, property) == conditions_.end()) {
    std::ranges::for_each(unmeasured_, shorten);
  }
}

size_t ResultSet::CountOf(Outcome outcome) const {
  return static_cast<size_t>(std::count_if(configurations_.begin(), configurations_.end(),
                                           [&](const Configuration& c) { return c.outcome == outcome; }));
}

}  // namespace assay::report
