// Points bound to an experiment: user input checked, completed with defaults, and named.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "experiment/catalogue.h"
#include "space/discovery_space.h"
#include "space/entity.h"

namespace assay::experiment {

/// One point that an experiment can be asked about.
struct BoundPoint {
  const Experiment* experiment = nullptr;
  space::Entity entity;  ///< constitutive properties, canonical values
  std::string entity_id;
  space::Entity parameters;      ///< overridden optionals: those that are not at their default
  std::string parameterized_id;  ///< base id and the parameters
  space::Entity complete;        ///< entity, parameterization and defaults together
};

/// "finetune_full_benchmark-v1.0.0-stop_after_seconds.30": the base id and `-name.value` for each parameter, in
/// alphabetical order. Parameters at their default are left out.
std::string ParameterizedId(const Experiment& experiment, const space::Entity& parameterization);

/// The value of property `name` in the form that ids use; an existing relative path becomes absolute. kInvalidArgument
/// for an unknown property (with the nearest known one) and a value outside its domain.
Result<space::Value> CanonicalValue(const Experiment& experiment, const std::string& name, const space::Value& value);

/// Checks names and values and fills in defaults. Precedence: entity, parameterization, default. Errors (unknown
/// property with the nearest known one, missing required property, value outside its domain) are kInvalidArgument.
Result<BoundPoint> BindPoint(const Experiment& experiment, const space::Entity& entity,
                             const space::Entity& parameterization);

/// For `assay run EXPERIMENT -p key=value ...`: required properties become the entity, optional ones the
/// parameterization. Reads the values from text.
Result<BoundPoint> BindPoint(const Experiment& experiment, const std::map<std::string, std::string>& texts);

/// A space whose experiments exist and whose domains are sub-domains of theirs.
class BoundSpace {
 public:
  /// Errors name the file and the line.
  static Result<BoundSpace> Bind(space::DiscoverySpace space, Experiments catalogue = AllExperiments());

  const space::DiscoverySpace& space() const { return space_; }
  const std::vector<const Experiment*>& experiments() const { return experiments_; }
  /// Base id and overridden optionals of experiment `index`.
  const std::string& parameterized_id(int64_t index) const { return parameterized_ids_[index]; }

  /// Points times experiments: for each point in grid order, each experiment in file order.
  int64_t size() const { return size_; }
  BoundPoint At(int64_t index) const;
  /// The inverse: where in the space a measured point stands; nullopt for one that is not of this space.
  std::optional<int64_t> IndexOf(const std::string& parameterized_id, const space::Entity& entity) const;

 private:
  BoundSpace() = default;
  void FindPaths();
  std::optional<int64_t> PositionOf(const space::Property& property, const space::Value& value) const;

  space::DiscoverySpace space_;
  std::vector<const Experiment*> experiments_;
  std::vector<space::Entity> parameterizations_;  ///< canonical, defaults left out
  std::vector<std::string> parameterized_ids_;
  /// By property: where the absolute form of a listed path stands in its domain.
  std::map<std::string, std::map<space::Value, int64_t>> paths_;
  int64_t size_ = 0;
};

/// ReadDiscoverySpace, then Bind.
Result<BoundSpace> ReadBoundSpace(const std::string& path);

}  // namespace assay::experiment
