// A measurement: what one experiment found out about one entity. Plain data; reporters only format it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "space/entity.h"

namespace assay::samplestore {

/// `valid`: measured. `invalid`: a rule or memory forbids this point; recorded and not repeated. `failed`: anything
/// else; kept for the record, does not count as measured, and is run again by the next operation.
enum class Outcome { kValid, kInvalid, kFailed };

/// One row of the store. Its JSON form is the object that `assay run --output json` prints.
struct Measurement {
  static constexpr int kSchema = 2;

  std::string uid;               ///< unique over all stores
  std::string experiment;        ///< base id, for example finetune_full_benchmark-v1.0.0
  std::string parameterized_id;  ///< base id and overridden optionals: with entity_id the memo key
  space::Entity entity;          ///< constitutive properties
  std::string entity_id;         ///< canonical: independent of the order of the properties
  space::Entity parameters;      ///< overridden optionals: what parameterized_id says as a text
  Outcome outcome = Outcome::kFailed;
  std::string reason;                              ///< one line; empty when valid
  std::map<std::string, space::Value> properties;  ///< target property to value
  std::map<std::string, std::string> units;        ///< target property to unit
  std::map<std::string, std::string> provenance;   ///< host, CPU/GPU, libtorch, commit, model and data hashes, time
  /// What the outcome holds for, by name (dependencies.h): "machine", "commit", "data_hash", ... Empty: everywhere
  /// what is valid, and nowhere what is invalid.
  std::map<std::string, std::string> depends_on;
  /// Series behind the values, for charts: "step_seconds", "loss", and sampled "time_s", "cpu_percent", "rss_bytes",
  /// ...
  std::map<std::string, std::vector<double>> series;
  std::string measured_at;  ///< UTC, ISO 8601
  /// Of one that was read: its place in the order in which its store got them, from 1. No part of
  /// the JSON form.
  int64_t arrival = 0;
};

/// Entry of provenance of one that a search ended before its time, by what its progress showed: the rule. Its outcome
/// is failed, since its numbers are of a part of the run: it stands in no mean, and only the same rule takes it as
/// known.
inline constexpr char kEndedEarly[] = "ended_early";
bool EndedEarly(const Measurement& measurement);

std::string_view ToString(Outcome outcome);
Result<Outcome> OutcomeFromString(std::string_view text);

nlohmann::json ToJson(const Measurement& measurement);
/// Of an older schema too: what its rows leave out is told from what they say.
Result<Measurement> MeasurementFromJson(const nlohmann::json& json);

}  // namespace assay::samplestore
