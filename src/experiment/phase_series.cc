#include "experiment/phase_series.h"

#include <fmt/format.h>

#include <charconv>

namespace assay::experiment {
namespace {

constexpr std::string_view kRank = "rank";
constexpr std::string_view kPhase = ".phase.";
constexpr std::string_view kSpan = "span.";

}  // namespace

std::string StepBeganSeries(int64_t rank) {
  return fmt::format("{}{}.step_began_s", kRank, rank);
}

std::string StepSecondsSeries(int64_t rank) {
  return fmt::format("{}{}.step_seconds", kRank, rank);
}

std::string PhaseSeries(int64_t rank, std::string_view phase) {
  return fmt::format("{}{}{}{}", kRank, rank, kPhase, phase);
}

std::string SpanSeries(std::string_view name) {
  return fmt::format("{}{}", kSpan, name);
}

std::optional<int> RankOf(std::string_view series) {
  int rank = 0;
  if (!series.starts_with(kRank)) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(series.data() + kRank.size(), series.data() + series.size(), rank);
  return error == std::errc() && end != series.data() + series.size() && *end == '.' ? std::optional(rank)
                                                                                     : std::nullopt;
}

std::string_view PhaseOf(std::string_view series) {
  const size_t at = series.find(kPhase);
  return !RankOf(series) || at == std::string_view::npos ? std::string_view() : series.substr(at + kPhase.size());
}

std::string_view SpanOf(std::string_view series) {
  return series.starts_with(kSpan) ? series.substr(kSpan.size()) : std::string_view();
}

}  // namespace assay::experiment
