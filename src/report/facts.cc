#include "report/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"
#include "report/cell_state.h"
#include "report/conditions.h"
#include "report/format.h"

namespace assay::report {
namespace {

using samplestore::Measurement;

struct Fact {
  std::string_view label;
  std::string_view key;  // of the provenance
};

// clang-format off
constexpr std::array kFacts = {
    Fact{"Host", "host"}, Fact{"CPU", "cpu"}, Fact{"Cores", "cores"}, Fact{"Memory", "memory"}, Fact{"GPU", "gpu"},
    Fact{"System", "os"}, Fact{"Device", "device"}, Fact{"Threads", "threads"}, Fact{"Kernels", "isa"},
    Fact{"libtorch", "libtorch"}, Fact{"assay", "version"}, Fact{"Commit", "commit"},
    Fact{"Weights", "weights"}, Fact{"Tokenizer", "tokenizer"}, Fact{"Data set", "dataset"},
};
// clang-format on

constexpr size_t kMaxFactValues = 3;

std::string FactValue(const ResultSet& results, const Fact& fact) {
  std::vector<std::string> values = ProvenanceValues(results, fact.key);
  std::erase(values, "");
  const size_t total = values.size();
  values.resize(std::min(total, kMaxFactValues));
  return Join(values, "; ") + (total > kMaxFactValues ? fmt::format(" and {} more", total - kMaxFactValues) : "");
}

// "7 valid, 1 out of memory"
std::string StatesText(const ReportContent& content) {
  std::vector<std::string> parts;
  for (const auto& [state, count] : CountsOf(content)) {
    if (state != CellState::kMissing) {
      parts.push_back(fmt::format("{} {}", count, LabelOf(state)));
    }
  }
  return Join(parts, ", ");
}

std::string MeasuredText(const ReportContent& content) {
  const size_t configurations = content.results.configurations().size();
  const size_t points = content.results.CountOfPoints();
  std::string text = Count(configurations, "configuration");
  if (content.input.planned_points > points) {
    text = fmt::format("{} of {} points", points, content.input.planned_points);
    text += configurations > points ? fmt::format(", {}", Count(configurations, "configuration")) : "";
  }
  return configurations == 0 ? text : fmt::format("{}: {}", text, StatesText(content));
}

// "2026-01-31 12:00:00 UTC" from "2026-01-31T12:00:00Z"
std::string ReadableTime(std::string time) {
  if (time.size() > 10 && time[10] == 'T' && time.ends_with('Z')) {
    time[10] = ' ';
    time.replace(time.size() - 1, 1, " UTC");
  }
  return time;
}

std::string WhenText(const ResultSet& results) {
  std::set<std::string> times;
  for (const Measurement& measurement : results.measurements()) {
    times.insert(measurement.measured_at);
  }
  times.erase("");
  if (times.empty()) {
    return "";
  }
  const std::string first = ReadableTime(*times.begin());
  return times.size() == 1 ? first : fmt::format("{} to {}", first, ReadableTime(*times.rbegin()));
}

}  // namespace

std::map<CellState, size_t> CountsOf(const ReportContent& content) {
  std::map<CellState, size_t> counts;
  for (const Configuration& configuration : content.results.configurations()) {
    ++counts[StateOf(configuration)];
  }
  const size_t points = content.results.CountOfPoints();
  if (content.input.planned_points > points) {
    counts[CellState::kMissing] = content.input.planned_points - points;
  }
  return counts;
}

std::vector<std::string> ProvenanceValues(const ResultSet& results, std::string_view key) {
  std::vector<std::string> values;
  for (const Measurement& measurement : results.measurements()) {
    const std::string& value = ProvenanceOf(measurement, key);
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(value);
    }
  }
  return values;
}

std::vector<NamedText> FactsOf(const ReportContent& content) {
  std::vector<NamedText> facts = {{"Measured", MeasuredText(content)}};
  if (std::string when = WhenText(content.results); !when.empty()) {
    facts.emplace_back("When", std::move(when));
  }
  for (const Fact& fact : kFacts) {
    if (std::string value = FactValue(content.results, fact); !value.empty()) {
      facts.emplace_back(fact.label, std::move(value));
    }
  }
  return facts;
}

}  // namespace assay::report
