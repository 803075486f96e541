#include "explore/endings.h"

#include <nlohmann/json.hpp>
#include <ranges>

#include "base/json.h"

namespace assay::explore {
namespace {

using nlohmann::json;

constexpr size_t kMostListed = 10'000;

json Name(const experiment::BoundSpace& space, int64_t index) {
  const experiment::BoundPoint point = space.At(index);
  return {{"experiment", point.parameterized_id}, {"entity", point.entity_id}};
}

}  // namespace

void Endings::Add(int64_t index, const PointResult& result) {
  const samplestore::Measurement& measurement = result.measurement;
  Ending& ending = endings_[index];
  if (EndedEarly(measurement)) {
    ending.early_uid = measurement.uid;
    ending.early_reason = measurement.reason;
    ending.early_replayed = result.source == Source::kReplayed;
  } else if (measurement.outcome == samplestore::Outcome::kFailed) {
    ++ending.failed;
  }
  ending.runs += measurement.outcome == samplestore::Outcome::kValid ? 1 : 0;
  ending.invalid = measurement.outcome == samplestore::Outcome::kInvalid;
}

void Endings::AddMean(int64_t index, const RepeatedMean& mean) {
  endings_[index].mean = mean;
}

const char* Endings::EndedBy(const Ending& ending, int64_t repeats) {
  return ending.mean && ending.mean->narrow ? "interval"
         : ending.invalid                   ? "invalid"
         : !ending.early_uid.empty()        ? "ended_early"
         : ending.runs >= repeats           ? "maximum"
         : ending.failed > 0                ? "failure"
                                            : "unfinished";
}

nlohmann::json Endings::EarlyJson(const experiment::BoundSpace& space) const {
  json early = json::array();
  for (const auto& [index, ending] : endings_) {
    if (!ending.early_uid.empty() && early.size() < kMostListed) {
      early.push_back(Name(space, index));
      early.back().update(
          {{"uid", ending.early_uid}, {"reason", ending.early_reason}, {"replayed", ending.early_replayed}});
    }
  }
  return early;
}

nlohmann::json Endings::RepeatsJson(const experiment::BoundSpace& space, int64_t repeats) const {
  json counts = json::object();
  json points = json::array();
  for (const auto& [index, ending] : endings_) {
    const char* const ended_by = EndedBy(ending, repeats);
    counts[ended_by] = counts.value(ended_by, int64_t{0}) + 1;
    if (points.size() == kMostListed) {
      continue;
    }
    points.push_back(Name(space, index));
    points.back().update({{"runs", ending.runs}, {"ended_by", ended_by}});
    if (ending.mean) {
      points.back().update({{"target", ending.mean->target},
                            {"mean", ending.mean->estimate.mean},
                            {"relative_half_width", ending.mean->relative_half_width()}});
    }
  }
  counts["points"] = std::move(points);
  return counts;
}

std::string Endings::AddedTo(const std::string& details, const experiment::BoundSpace& space, int64_t repeats) const {
  json early = EarlyJson(space);
  if (early.empty() && repeats <= 1) {
    return details;
  }
  json all = details.empty() ? json::object() : json::parse(details, nullptr, /*allow_exceptions=*/false);
  if (!early.empty()) {
    all["ended_early"] = std::move(early);
  }
  if (repeats > 1) {
    all["repeats"] = RepeatsJson(space, repeats);
  }
  return DumpJson(all);
}

}  // namespace assay::explore
