#include "report/model/lanes_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "experiment/phase_series.h"
#include "report/metric.h"
#include "report/model/parts.h"

namespace assay::report {
namespace {

using experiment::PhaseOf;
using experiment::RankOf;
using nlohmann::json;
using samplestore::Measurement;

/// In the order of a step.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kPhases = {{
    {"load", "load"},
    {"data", "data"},
    {"forward", "forward"},
    {"backward", "backward"},
    {"communication", "communication"},
    {"optimizer", "optimiser"},
    {"checkpoint", "checkpoint"},
    {"evaluation", "evaluation"},
    {"other", "other"},
}};

/// One rank's steps as they were stored.
struct RankSeries {
  const std::vector<double>* began = nullptr;
  const std::vector<double>* seconds = nullptr;
  std::map<std::string, const std::vector<double>*, std::less<>> phases;

  size_t steps() const { return std::min(began->size(), seconds->size()); }
};

std::map<int, RankSeries> RanksOf(const Measurement& run) {
  std::map<int, RankSeries> ranks;
  for (const auto& [name, values] : run.series) {
    const std::optional<int> rank = RankOf(name);
    if (!rank) {
      continue;
    }
    if (const std::string_view phase = PhaseOf(name); !phase.empty()) {
      ranks[*rank].phases.emplace(phase, &values);
    } else if (name == experiment::StepBeganSeries(*rank)) {
      ranks[*rank].began = &values;
    } else if (name == experiment::StepSecondsSeries(*rank)) {
      ranks[*rank].seconds = &values;
    }
  }
  std::erase_if(ranks, [](const auto& rank) { return rank.second.began == nullptr || rank.second.seconds == nullptr; });
  return ranks;
}

double ValueAt(const std::vector<double>& values, size_t i) {
  return i < values.size() && std::isfinite(values[i]) ? values[i] : 0;
}

/// Steps `begin` to `end` as one stretch of the lane.
void AddStretch(const RankSeries& rank, size_t begin, size_t end, json& lane) {
  size_t slowest = begin;
  for (size_t i = begin; i < end; ++i) {
    slowest = ValueAt(*rank.seconds, i) > ValueAt(*rank.seconds, slowest) ? i : slowest;
  }
  lane["from"].push_back(Rounded((*rank.began)[begin]));
  lane["to"].push_back(Rounded((*rank.began)[end - 1] + ValueAt(*rank.seconds, end - 1)));
  lane["steps"].push_back(end - begin);
  lane["first"].push_back(begin + 1);
  lane["slowest"].push_back(slowest + 1);
  lane["slowest_seconds"].push_back(Rounded(ValueAt(*rank.seconds, slowest)));
  for (const auto& [phase, values] : rank.phases) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += ValueAt(*values, i);
    }
    lane["phases"][phase].push_back(Rounded(sum));
  }
}

json LaneOf(int number, const RankSeries& rank, size_t most_stretches) {
  json lane = {{"rank", number}, {"phases", json::object()}};
  for (const char* name : {"from", "to", "steps", "first", "slowest", "slowest_seconds"}) {
    lane[name] = json::array();
  }
  const size_t stretches = std::min(rank.steps(), most_stretches);
  for (size_t i = 0; i < stretches; ++i) {
    AddStretch(rank, rank.steps() * i / stretches, rank.steps() * (i + 1) / stretches, lane);
  }
  return lane;
}

json SpansOf(const Measurement& run) {
  json spans = json::array();
  for (const auto& [name, ends] : run.series) {
    const std::string_view span = experiment::SpanOf(name);
    for (size_t i = 0; !span.empty() && i + 1 < ends.size(); i += 2) {
      if (!std::isfinite(ends[i]) || !std::isfinite(ends[i + 1])) {
        continue;
      }
      spans.push_back({{"name", span}, {"from", Rounded(ends[i])}, {"to", Rounded(ends[i + 1])}});
    }
  }
  return spans;
}

/// What `rank` did in a phase: in spans of the run, and in its steps.
double SecondsIn(std::string_view phase, const json& spans, const RankSeries& rank) {
  double seconds = 0;
  for (const json& span : spans) {
    seconds += span.at("name") == phase ? span.at("to").get<double>() - span.at("from").get<double>() : 0;
  }
  if (const auto found = rank.phases.find(phase); found != rank.phases.end()) {
    for (size_t i = 0; i < rank.steps(); ++i) {
      seconds += ValueAt(*found->second, i);
    }
  }
  return seconds;
}

/// Those that took time.
json PhasesOf(const json& spans, const std::map<int, RankSeries>& ranks) {
  json phases = json::array();
  for (const auto& [name, title] : kPhases) {
    json seconds = json::array();
    bool took_time = false;
    for (const auto& [number, rank] : ranks) {
      const double sum = SecondsIn(name, spans, rank);
      took_time = took_time || sum > 0;
      seconds.push_back(Rounded(sum));
    }
    if (took_time) {
      phases.push_back({{"name", name}, {"title", title}, {"seconds", std::move(seconds)}});
    }
  }
  return phases;
}

}  // namespace

bool IsLaneSeries(std::string_view name) {
  const std::optional<int> rank = RankOf(name);
  return !experiment::SpanOf(name).empty() ||
         (rank && (!PhaseOf(name).empty() || name == experiment::StepBeganSeries(*rank)));
}

json LanesJson(const Measurement& run, size_t most_stretches) {
  std::map<int, RankSeries> ranks = RanksOf(run);
  std::erase_if(ranks, [](const auto& rank) { return rank.second.steps() == 0; });
  if (ranks.empty()) {
    return nullptr;
  }
  json lanes = {{"end", 0}, {"spans", SpansOf(run)}, {"ranks", json::array()}};
  double end = 0;
  for (const auto& [number, rank] : ranks) {
    lanes["ranks"].push_back(LaneOf(number, rank, most_stretches));
    end = std::max(end, (*rank.began)[rank.steps() - 1] + rank.seconds->at(rank.steps() - 1));
  }
  for (const json& span : lanes["spans"]) {
    end = std::max(end, span.at("to").get<double>());
  }
  lanes["end"] = Rounded(end);
  lanes["phases"] = PhasesOf(lanes["spans"], ranks);
  return lanes;
}

}  // namespace assay::report
