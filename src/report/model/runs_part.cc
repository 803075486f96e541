// Every run of a report; of those that the limits allow also their values, their provenance and their series.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "report/conditions.h"
#include "report/model/lanes_part.h"
#include "report/model/parts.h"
#include "report/model/series_part.h"

namespace assay::report {
namespace {

using nlohmann::json;
using samplestore::Measurement;

struct Run {
  const Measurement* measurement = nullptr;
  size_t configuration = 0;
};

std::vector<Run> RunsOf(const ReportContent& content) {
  std::vector<Run> runs;
  for (const Configuration& configuration : content.results.configurations()) {
    for (const Measurement* run : configuration.runs) {
      runs.push_back({run, configuration.index});
    }
  }
  return runs;
}

/// Who is looked at first: what is on a front, then the fastest; of a configuration the first run that counts before
/// its others.
std::vector<size_t> RunsByInterest(const ReportContent& content, const std::vector<Run>& runs) {
  std::set<size_t> on_front;
  for (const Front& front : content.fronts) {
    on_front.insert(front.configurations.begin(), front.configurations.end());
  }
  std::map<const Measurement*, int> turn;
  for (const Configuration& configuration : content.results.configurations()) {
    int next = 0;
    for (const Measurement* run : configuration.CountedRuns()) {
      turn[run] = next++;
    }
  }
  constexpr int kLast = 1 << 20;
  const auto key = [&](size_t at) {
    const Run& run = runs[at];
    const auto found = turn.find(run.measurement);
    const auto speed = content.metrics.empty() ? std::nullopt : content.estimates.At(run.configuration, 0);
    return std::tuple(found == turn.end() ? kLast : found->second, on_front.contains(run.configuration) ? 0 : 1,
                      speed ? -speed->value : 0, at);
  };
  std::vector<std::pair<decltype(key(0)), size_t>> keyed;
  for (size_t at = 0; at < runs.size(); ++at) {
    keyed.emplace_back(key(at), at);
  }
  std::ranges::sort(keyed);
  std::vector<size_t> order;
  std::ranges::transform(keyed, std::back_inserter(order), [](const auto& entry) { return entry.second; });
  return order;
}

/// Names that a table of columns has once, with each run's texts or numbers under them.
template <typename MapOf>
std::vector<std::string> NamesOf(const std::vector<Run>& runs, MapOf map_of) {
  std::set<std::string> names;
  for (const Run& run : runs) {
    for (const auto& [name, value] : map_of(*run.measurement)) {
      names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

const auto& TargetsOfRun(const Measurement& run) {
  return run.properties;
}
const auto& ProvenanceOfRun(const Measurement& run) {
  return run.provenance;
}

json UnitsOf(const std::vector<Run>& runs) {
  json units = json::object();
  for (const Run& run : runs) {
    for (const auto& [name, unit] : run.measurement->units) {
      units[name] = unit;
    }
  }
  return units;
}

/// One list a run, as long as `names`.
template <typename Map>
json RowOf(const Map& map, const std::vector<std::string>& names) {
  json row = json::array();
  for (const std::string& name : names) {
    const auto found = map.find(name);
    if (found == map.end()) {
      row.push_back(nullptr);
    } else if constexpr (std::is_same_v<typename Map::mapped_type, std::string>) {
      row.push_back(found->second);
    } else {
      row.push_back(ValueJson(found->second));
    }
  }
  return row;
}

/// What every run has alike stands once.
std::map<std::string, std::string> SharedProvenance(const std::vector<Run>& runs) {
  std::map<std::string, std::string> shared;
  if (!runs.empty()) {
    shared = runs.front().measurement->provenance;
  }
  for (const Run& run : runs) {
    std::erase_if(shared,
                  [&](const auto& entry) { return ProvenanceOf(*run.measurement, entry.first) != entry.second; });
  }
  return shared;
}

size_t LaneValues(const Measurement& run, size_t stretches) {
  size_t values = 0;
  for (const auto& [name, series] : run.series) {
    values += IsLaneSeries(name) ? std::min(series.size(), stretches) : 0;
  }
  return values;
}

/// By uid, of `runs` in their order while there is room.
json LanesPart(const std::vector<const Measurement*>& runs, size_t most_values) {
  constexpr size_t kMostStretches = 240;
  constexpr size_t kFewestStretches = 40;
  size_t values = 0;
  for (const Measurement* run : runs) {
    values += LaneValues(*run, kMostStretches);
  }
  const size_t stretches = values <= most_values ? kMostStretches : kFewestStretches;
  json lanes = json::object();
  values = 0;
  for (const Measurement* run : runs) {
    values += LaneValues(*run, stretches);
    if (values > most_values && !lanes.empty()) {
      break;
    }
    if (json of_run = LanesJson(*run, stretches); !of_run.is_null()) {
      lanes[run->uid] = std::move(of_run);
    }
  }
  return lanes;
}

json RunColumns(const std::vector<Run>& runs) {
  json part = {{"count", runs.size()},
               {"uid", json::array()},
               {"configuration", json::array()},
               {"outcome", json::array()},
               {"at", json::array()}};
  for (const Run& run : runs) {
    part["uid"].push_back(run.measurement->uid);
    part["configuration"].push_back(run.configuration);
    part["outcome"].push_back(samplestore::ToString(run.measurement->outcome));
    part["at"].push_back(run.measurement->measured_at);
  }
  return part;
}

}  // namespace

json RunsPart(const ReportContent& content, const ModelLimits& limits) {
  const std::vector<Run> runs = RunsOf(content);
  const std::vector<size_t> order = RunsByInterest(content, runs);
  const std::map<std::string, std::string> shared = SharedProvenance(runs);
  const std::vector<std::string> targets = NamesOf(runs, &TargetsOfRun);
  std::vector<std::string> provenance = NamesOf(runs, &ProvenanceOfRun);
  std::erase_if(provenance, [&](const std::string& name) { return shared.contains(name); });
  json part = RunColumns(runs);
  part["shared"] = shared;
  part["targets"] = targets;
  part["units"] = UnitsOf(runs);
  part["provenance"] = provenance;
  part["values"] = json::object();
  part["told"] = json::object();
  const size_t each = targets.size() + provenance.size() + 1;
  const size_t detailed = std::min(runs.size(), std::max<size_t>(1, limits.run_values / each));
  std::vector<const Measurement*> with_series;
  for (size_t i = 0; i < detailed; ++i) {
    const Run& run = runs[order[i]];
    part["values"][run.measurement->uid] = RowOf(run.measurement->properties, targets);
    part["told"][run.measurement->uid] = RowOf(run.measurement->provenance, provenance);
    with_series.push_back(run.measurement);
  }
  part["detailed"] = detailed;
  part["series"] = SeriesPart(with_series, limits.series_points);
  part["lanes"] = LanesPart(with_series, limits.lane_values);
  return part;
}

}  // namespace assay::report
