#include "explore/space_measurements.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/subprocess.h"

namespace assay::explore {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;
using Points = std::map<int64_t, samplestore::MemoKey>;

/// Of a larger space nobody reads what is missing as a list.
constexpr int64_t kLargestListedSpace = 20'000;

Status Interrupted() {
  return InterruptRequested() ? Status::Aborted("interrupted while the store was read") : Status::Ok();
}

std::string Provenance(const Measurement& measurement, const char* name) {
  const auto found = measurement.provenance.find(name);
  return found == measurement.provenance.end() ? "" : found->second;
}

/// The host, and what a replay on it compares: an invalid run says nothing of one with other settings or other data.
std::vector<std::string> MadeWith(const Measurement& run) {
  std::vector<std::string> values;
  for (const char* name :
       {"host", samplestore::kCommit, samplestore::kMachine, samplestore::kLibtorch, samplestore::kSettings,
        samplestore::kModelHash, samplestore::kDataHash, samplestore::kTokenizerHash, "libraries"}) {
    values.push_back(Provenance(run, name));
  }
  return values;
}

/// Adds what counts of the runs of one point that were made alike, which are in the order of arrival.
void AddRuns(std::vector<Measurement>& runs, bool host_has_others, std::vector<Measurement>& measurements) {
  const Measurement* newest = nullptr;
  for (const Measurement& run : runs) {
    newest = run.outcome != Outcome::kFailed ? &run : newest;
  }
  if (newest == nullptr) {
    if (!host_has_others) {
      measurements.push_back(std::move(runs.back()));
    }
    return;
  }
  if (newest->outcome != Outcome::kValid) {
    measurements.push_back(*newest);
    return;
  }
  for (Measurement& run : runs) {
    if (run.outcome == Outcome::kValid) {
      measurements.push_back(std::move(run));
    }
  }
}

/// Each point looked up: for a space that is small beside what the store has of its experiments.
Result<Points> LookUpPoints(const experiment::BoundSpace& space, samplestore::SampleStore& store) {
  Points points;
  for (int64_t index = 0; index < space.size(); ++index) {
    ASSAY_RETURN_IF_ERROR(Interrupted());
    const experiment::BoundPoint point = space.At(index);
    const samplestore::MemoKey key = {point.parameterized_id, point.entity_id};
    ASSAY_ASSIGN_OR_RETURN(
        const auto rows,
        store.ListRows({.parameterized_id = key.parameterized_id, .entity_id = key.entity_id, .limit = 1}, {}));
    if (!rows.empty()) {
      points.emplace(index, key);
    }
  }
  return points;
}

/// Whether that is faster than to go through all measurements of the experiments.
Result<bool> IsSmallBeside(const experiment::BoundSpace& space, samplestore::SampleStore& store) {
  constexpr int64_t kRowsOfALookUp = 8;
  int64_t rows = 0;
  for (size_t i = 0; i < space.experiments().size(); ++i) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t count,
                           store.Count({.parameterized_id = space.parameterized_id(static_cast<int64_t>(i))}));
    rows += count;
  }
  return space.size() < rows / kRowsOfALookUp;
}

}  // namespace

Result<Points> PointsInStore(const experiment::BoundSpace& space, samplestore::SampleStore& store) {
  ASSAY_ASSIGN_OR_RETURN(const bool is_small, IsSmallBeside(space, store));
  if (is_small) {
    return LookUpPoints(space, store);
  }
  std::vector<std::string> names;
  for (const space::Property& property : space.space().properties) {
    names.push_back(property.identifier);
  }
  Points points;
  for (size_t i = 0; i < space.experiments().size(); ++i) {
    const std::string& id = space.parameterized_id(static_cast<int64_t>(i));
    ASSAY_ASSIGN_OR_RETURN(const auto rows, store.ListRows({.parameterized_id = id}, names));
    ASSAY_RETURN_IF_ERROR(Interrupted());
    for (const samplestore::MeasurementRow& row : rows) {
      space::Entity entity;
      for (size_t column = 0; column < names.size(); ++column) {
        entity[names[column]] = row.values[column];
      }
      const auto index = space.IndexOf(id, entity);
      if (index && space::EntityId(entity) == row.entity_id) {
        points.emplace(*index, samplestore::MemoKey{id, row.entity_id});
      }
    }
  }
  return points;
}

std::vector<Measurement> RunsThatCount(std::vector<Measurement> runs) {
  std::map<std::vector<std::string>, std::vector<Measurement>> made_alike;
  std::set<std::string> hosts;
  for (Measurement& run : runs) {
    if (run.outcome != Outcome::kFailed) {
      hosts.insert(Provenance(run, "host"));
    }
    std::vector<std::string> made_with = MadeWith(run);
    made_alike[std::move(made_with)].push_back(std::move(run));
  }
  std::vector<Measurement> counted;
  for (auto& [made, alike] : made_alike) {
    AddRuns(alike, hosts.contains(made.front()), counted);
  }
  return counted;
}

std::vector<experiment::BoundPoint> UnmeasuredOf(const experiment::BoundSpace& space,
                                                 std::span<const Measurement> measured) {
  std::set<int64_t> known;
  for (const Measurement& measurement : measured) {
    if (const auto index = space.IndexOf(measurement.parameterized_id, measurement.entity)) {
      known.insert(*index);
    }
  }
  std::vector<experiment::BoundPoint> unmeasured;
  for (int64_t i = 0; space.size() <= kLargestListedSpace && i < space.size(); ++i) {
    if (!known.contains(i)) {
      unmeasured.push_back(space.At(i));
    }
  }
  return unmeasured;
}

Result<std::vector<Measurement>> MeasurementsOf(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                                                bool with_series) {
  ASSAY_ASSIGN_OR_RETURN(const auto points, PointsInStore(space, store));
  std::vector<Measurement> measurements;
  for (const auto& [index, key] : points) {
    ASSAY_RETURN_IF_ERROR(Interrupted());
    ASSAY_ASSIGN_OR_RETURN(
        auto runs, store.List({.parameterized_id = key.parameterized_id, .entity_id = key.entity_id}, with_series));
    std::ranges::move(RunsThatCount(std::move(runs)), std::back_inserter(measurements));
  }
  return measurements;
}

}  // namespace assay::explore
