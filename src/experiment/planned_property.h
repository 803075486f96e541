// A property together with what its value makes of a plan: one declaration of its domain, default, text and field.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "experiment/experiment.h"
#include "experiment/property_spec.h"
#include "space/number.h"

namespace assay::experiment {

/// A property of an experiment whose plan is a `Plan`.
template <typename Plan>
struct Planned {
  PropertySpec spec;
  /// Puts a canonical value into the plan. nullptr: it says nothing to a worker, or only together with others. An error
  /// is a text that the domain cannot refuse ("4XB").
  Status (*take)(const space::Value& value, Plan& plan) = nullptr;
};

/// None leaves the field as it is.
template <typename Field>
void Assign(const space::Value& value, Field& field) {
  if (value == space::Value()) {
    return;
  }
  if constexpr (std::is_same_v<Field, std::string> || std::is_same_v<Field, bool>) {
    field = std::get<Field>(value);
  } else {
    field = static_cast<Field>(*space::NumberOf(value));
  }
}

/// `take` of a property that is a field of the plan: Field<job::TunePlan, &job::TunePlan::seed>.
template <typename Plan, auto kField>
Status Field(const space::Value& value, Plan& plan) {
  Assign(value, plan.*kField);
  return Status::Ok();
}

/// Of a text such as "4GiB".
template <typename Plan, auto kField>
Status BytesField(const space::Value& value, Plan& plan) {
  return TakeBytes(value, plan.*kField);
}

/// Of the number of GPUs: where a training runs.
template <typename Plan>
Status DeviceOfGpus(const space::Value& gpus, Plan& plan) {
  plan.device = gpus == space::Value(int64_t{0}) ? "cpu" : "cuda";
  return Status::Ok();
}

/// Of True and False: every layer or none.
template <typename Plan>
Status CheckpointedField(const space::Value& value, Plan& plan) {
  plan.gradient_checkpointing = std::get<bool>(value) ? "on" : "off";
  return Status::Ok();
}

/// The specs alone.
template <typename Plan>
std::vector<PropertySpec> SpecsOf(const std::vector<Planned<Plan>>& properties) {
  std::vector<PropertySpec> specs;
  std::ranges::transform(properties, std::back_inserter(specs), &Planned<Plan>::spec);
  return specs;
}

/// Puts the values of a complete point into the plan, in the order of `properties`.
template <typename Plan>
Status TakeAll(const std::vector<Planned<Plan>>& properties, const space::Entity& point, Plan& plan) {
  for (const Planned<Plan>& property : properties) {
    const Status taken = property.take == nullptr ? Status::Ok() : property.take(point.at(property.spec.name), plan);
    if (!taken.ok()) {
      return taken.WithContext(property.spec.name);
    }
  }
  return Status::Ok();
}

/// `shared`, with those of `own` that have a name of theirs in their place, and the others behind them.
template <typename Plan>
std::vector<Planned<Plan>> WithOwn(std::vector<Planned<Plan>> shared, const std::vector<Planned<Plan>>& own) {
  for (const Planned<Plan>& property : own) {
    const auto found =
        std::ranges::find(shared, property.spec.name, [](const Planned<Plan>& other) { return other.spec.name; });
    if (found == shared.end()) {
      shared.push_back(property);
    } else {
      *found = property;
    }
  }
  return shared;
}

/// The property of that name, which must be one of `properties`, with another domain and default.
template <typename Plan>
Planned<Plan> Changed(const std::vector<Planned<Plan>>& properties, const std::string& name, space::Domain domain,
                      space::Value default_value) {
  Planned<Plan> changed = *std::ranges::find(properties, name, [](const Planned<Plan>& p) { return p.spec.name; });
  changed.spec.domain = std::move(domain);
  changed.spec.default_value = std::move(default_value);
  changed.spec.supported.clear();
  return changed;
}

}  // namespace assay::experiment
