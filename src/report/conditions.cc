#include "report/conditions.h"

#include <algorithm>
#include <array>
#include <set>

#include "report/declared.h"
#include "space/entity.h"

namespace assay::report {
namespace {

using samplestore::Measurement;

/// Among which measurements two values mean that something changed.
enum class Within {
  kAll,
  kHost,     ///< of one host and its GPUs: its processors or memory changed
  kModel,    ///< of one model name: another model has another hash
  kDataset,  ///< of one data set id
  kPoint,    ///< of one point: others ask for other numbers of threads
};

struct Condition {
  std::string_view key;  // of the provenance
  std::string_view label;
  Within within;
};

constexpr std::array kConditions = {
    Condition{"host", "host", Within::kAll},
    Condition{"machine", "machine", Within::kHost},
    Condition{"gpu", "GPU", Within::kAll},
    Condition{"libtorch", "libtorch", Within::kAll},
    Condition{"commit", "commit", Within::kAll},
    Condition{"store", "store", Within::kAll},
    Condition{"settings", "settings", Within::kAll},
    Condition{"isa", "kernels", Within::kPoint},
    Condition{"threads", "threads", Within::kPoint},
    Condition{"libraries", "libraries", Within::kPoint},
    Condition{"weights", "weights", Within::kAll},
    Condition{"model_hash", "model content", Within::kModel},
    Condition{"tokenizer_hash", "tokenizer content", Within::kModel},
    Condition{"data_hash", "data content", Within::kDataset},
};

/// Nothing where no property of the entity has that role.
std::optional<std::string> TextOf(const Measurement& measurement, const Declared& declared, experiment::Role role) {
  const auto found = measurement.entity.find(declared.PropertyOf(measurement.entity, role));
  return found == measurement.entity.end() ? std::nullopt : std::optional(space::ToString(found->second));
}

std::string GroupOf(const Measurement& measurement, const Declared& declared, Within within) {
  switch (within) {
    case Within::kHost:
      return ProvenanceOf(measurement, "host") + '\n' + ProvenanceOf(measurement, "gpu");
    case Within::kModel:
      return TextOf(measurement, declared, experiment::Role::kModel).value_or("");
    case Within::kDataset:
      // Where it is a parameter, the id of the experiment names it.
      return TextOf(measurement, declared, experiment::Role::kDataset).value_or(measurement.parameterized_id);
    case Within::kPoint:
      return measurement.parameterized_id + '\n' + measurement.entity_id;
    case Within::kAll:
      break;
  }
  return "";
}

bool Separates(const Condition& condition, std::span<const Measurement> measurements, const Declared& declared) {
  std::map<std::string, std::string> value_of;
  return std::any_of(measurements.begin(), measurements.end(), [&](const Measurement& measurement) {
    const std::string& value = ProvenanceOf(measurement, condition.key);
    return !value.empty() &&
           value_of.try_emplace(GroupOf(measurement, declared, condition.within), value).first->second != value;
  });
}

}  // namespace

std::vector<std::string> AllConditions() {
  std::vector<std::string> keys;
  for (const Condition& condition : kConditions) {
    keys.emplace_back(condition.key);
  }
  return keys;
}

std::vector<std::string> SeparatingConditions(std::span<const Measurement> measurements, const Declared& declared) {
  std::vector<std::string> keys;
  for (const Condition& condition : kConditions) {
    if (Separates(condition, measurements, declared)) {
      keys.emplace_back(condition.key);
    }
  }
  return keys;
}

Conditions ConditionsOf(const Measurement& measurement, const std::vector<std::string>& keys) {
  Conditions conditions;
  for (const std::string& key : keys) {
    if (const std::string& value = ProvenanceOf(measurement, key); !value.empty()) {
      conditions.emplace(key, value);
    }
  }
  return conditions;
}

bool Agree(const Conditions& a, const Conditions& b) {
  return std::all_of(a.begin(), a.end(), [&](const auto& condition) {
    const auto other = b.find(condition.first);
    return other == b.end() || other->second == condition.second;
  });
}

std::optional<std::string_view> ConditionLabel(std::string_view key) {
  const auto* found = std::find_if(kConditions.begin(), kConditions.end(),
                                   [&](const Condition& condition) { return condition.key == key; });
  return found == kConditions.end() ? std::nullopt : std::optional(found->label);
}

const std::string& ProvenanceOf(const Measurement& measurement, std::string_view key) {
  static const std::string kNone;
  const auto found = measurement.provenance.find(std::string(key));
  return found == measurement.provenance.end() ? kNone : found->second;
}

bool WasStarved(const Measurement& run) {
  const auto found = run.provenance.find("starved");
  return found != run.provenance.end() && !found->second.empty();
}

}  // namespace assay::report
