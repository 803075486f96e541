// Measurements arranged for people: repeats of a point together, and what varies told apart from what does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/catalogue.h"
#include "experiment/point.h"
#include "report/declared.h"
#include "samplestore/measurement.h"
#include "space/entity.h"

namespace assay::report {

/// Coordinate that holds an experiment's overridden optional properties, as they stand in its parameterised id.
inline constexpr std::string_view kParameters = "parameters";

/// One point of the space with all its runs under the same conditions (report/conditions.h): runs of two machines, two
/// commits or two contents of a file are two configurations, never one mean.
struct Configuration {
  /// Constitutive properties, kMethod, kParameters when there are any, and the conditions that tell measurements apart.
  space::Entity coordinates;
  std::vector<const samplestore::Measurement*> runs;             ///< oldest first; empty only of an unmeasured point
  samplestore::Outcome outcome = samplestore::Outcome::kFailed;  ///< valid if a run is; else that of the last run
  size_t index = 0;                                              ///< position in ResultSet::configurations()

  /// None when the configuration has no such coordinate.
  const space::Value& At(std::string_view property) const;
  std::vector<const samplestore::Measurement*> ValidRuns() const;
  /// The valid runs that make its values: those that did not wait for processors. Where all did, all of them.
  std::vector<const samplestore::Measurement*> CountedRuns() const;
  /// There are valid runs, and all of them waited for processors: its values are to be doubted.
  bool IsStarved() const;
  /// Why there is no valid run; empty when there is one.
  std::string_view reason() const;
};

/// A point of a space that was not measured anywhere.
struct UnmeasuredPoint {
  std::string experiment;
  std::string parameterized_id;
  space::Entity entity;
};

std::vector<UnmeasuredPoint> UnmeasuredPointsOf(std::span<const experiment::BoundPoint> points);

/// A fixed property with its value, for people: "r (lora)" and "8".
using NamedText = std::pair<std::string, std::string>;

/// A varying coordinate in numbers: what is done with ten thousand configurations is done with these.
struct Axis {
  std::string property;
  std::vector<space::Value> values;  ///< distinct, in their natural order; None where one has no such coordinate
  std::vector<uint32_t> codes;       ///< of each configuration: the place of its value in `values`
  std::vector<uint32_t> unmeasured;  ///< of each unmeasured point likewise

  /// The place of `value`; the number of values when it is none of them.
  uint32_t CodeOf(const space::Value& value) const;
  bool IsNumeric() const;  ///< all values are numbers
};

/// Keeps pointers to `measurements` and to the experiments of `catalogue`, which must outlive it.
class ResultSet {
 public:
  explicit ResultSet(std::span<const samplestore::Measurement> measurements,
                     experiment::Experiments catalogue = experiment::AllExperiments(),
                     std::span<const UnmeasuredPoint> unmeasured = {});

  /// Ordered by their varying coordinates, numbers by value. Where a varying coordinate holds paths whose last parts
  /// tell them apart, it holds these; the whole path stays in the measurement.
  const std::vector<Configuration>& configurations() const { return configurations_; }
  std::span<const samplestore::Measurement> measurements() const { return measurements_; }
  /// A valid measurement has this target property: what none has is not looked for in each.
  bool Has(std::string_view target) const { return targets_.contains(target); }
  /// Those that experiments declare to be of that kind and that a valid measurement has.
  std::vector<const experiment::TargetSpec*> TargetsOf(experiment::Quantity kind) const;
  /// Points without any run, with the coordinates that all runs have: no machine, no commit. Ordered likewise.
  const std::vector<Configuration>& unmeasured() const { return unmeasured_; }
  /// Coordinates that take at least two values, the ones people compare by first. Those that merely follow the method
  /// (a LoRA rank beside full fine-tuning) are not among them.
  const std::vector<std::string>& varying() const { return varying_; }
  /// The same with their values, in the same order.
  const std::vector<Axis>& axes() const { return axes_; }
  /// nullptr for a coordinate that does not vary.
  const Axis* AxisOf(std::string_view property) const;
  bool Varies(std::string_view property) const;
  /// The first varying coordinate that has this role; empty when there is none.
  std::string VaryingWith(experiment::Role role) const;
  /// Everything else that defines the points.
  const std::vector<NamedText>& constants() const { return constants_; }
  /// Distinct values of a coordinate in their natural order.
  std::vector<space::Value> ValuesOf(std::string_view property) const;
  /// "lora, max length 256, batch size 4": the varying coordinates; when nothing varies, those people ask for first.
  std::string Label(const Configuration& configuration, std::string_view separator = ", ") const;
  size_t CountOf(samplestore::Outcome outcome) const;
  /// Points of the space that were measured, whatever the conditions.
  size_t CountOfPoints() const { return measured_points_; }
  /// Of the conditions, those that tell these measurements apart: coordinates like any other.
  const std::vector<std::string>& conditions() const { return conditions_; }
  const Declared& declared() const { return declared_; }

 private:
  void NameTargets();
  void GroupRuns();
  void AddUnmeasured(std::span<const UnmeasuredPoint> points);
  void NameMethods();
  void Order(std::vector<Configuration>& configurations) const;
  void CodeAxes();
  /// Of measured and unmeasured points.
  void ForEach(const std::function<void(const Configuration&)>& visit) const;
  void AddRun(const samplestore::Measurement& run, std::vector<size_t>& of_point);
  void StateWeights();
  void StateTokenizers();
  void FindVarying();
  bool FollowsMethod(const std::string& property) const;
  void AddConstant(const std::string& property);
  void ShortenPaths(const std::string& property);
  std::vector<std::string> AskedForFirst(const Configuration& configuration) const;

  std::span<const samplestore::Measurement> measurements_;
  Declared declared_;
  std::set<std::string, std::less<>> targets_;
  std::vector<std::string> conditions_;
  std::vector<Configuration> configurations_;
  size_t measured_points_ = 0;
  std::vector<Configuration> unmeasured_;
  std::vector<std::string> varying_;
  std::vector<Axis> axes_;
  std::vector<NamedText> constants_;
};

/// None < False < True < numbers by value < text.
bool ValueLess(const space::Value& a, const space::Value& b);

}  // namespace assay::report
