#include "report/model/report_model.h"

#include <cmath>

#include "base/text.h"
#include "report/cell_state.h"
#include "report/charts/chart.h"
#include "report/facts.h"
#include "report/model/figures.h"
#include "report/model/parts.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

using nlohmann::json;

constexpr int kDigits = 7;

json PairsJson(const std::vector<NamedText>& pairs) {
  json list = json::array();
  for (const auto& [name, text] : pairs) {
    list.push_back({name, text});
  }
  return list;
}

json CountsJson(const ReportContent& content) {
  json counts = {{"measurements", content.results.measurements().size()},
                 {"points", content.results.CountOfPoints()},
                 {"planned_points", content.input.planned_points}};
  std::map<CellState, size_t> counted = CountsOf(content);
  for (const CellState state : kCellStates) {
    counts[std::string(ToString(state))] = counted[state];
  }
  return counts;
}

template <typename... Write>
json PiecesOf(const ReportContent& content, Write... write) {
  Markup html;
  (write(html, content), ...);
  return std::move(html).Pieces();
}

/// What the page shows as it is.
json PagePart(const ReportContent& content) {
  return {{"header", PiecesOf(content, WriteHeader)},
          {"overview", PiecesOf(content, WriteStates, WriteFindings)},
          {"crossings", PiecesOf(content, WriteCrossings)}};
}

/// What a step's loss is the mean of.
std::string LossOf(const ReportContent& content) {
  const auto& measured = content.results.declared().measured();
  return measured.empty() ? "" : measured.front()->declaration().report.loss_of;
}

}  // namespace

json Rounded(double value) {
  if (!std::isfinite(value)) {
    return nullptr;
  }
  if (value == 0) {
    return 0;
  }
  const int exponent = kDigits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  const double scale = std::pow(10.0, std::abs(exponent));
  const double rounded = exponent >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
  constexpr double kLargestExact = 9007199254740992.0;
  // Beyond what a scale can hold, and below, the number stays as it is.
  if (!std::isfinite(rounded) || !std::isfinite(scale)) {
    return value;
  }
  if (rounded == std::trunc(rounded) && std::abs(rounded) < kLargestExact) {
    return static_cast<int64_t>(rounded);
  }
  return rounded;
}

json ValueJson(const space::Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? Rounded(*number) : space::ToJson(value);
}

json ReportModel(const ReportContent& content, const ModelLimits& limits) {
  json model;
  model["format"] = kModelFormat;
  model["schema"] = kModelSchema;
  model["title"] = content.input.title;
  model["description"] = content.input.space_description;
  model["generated_at"] = content.input.generated_at.empty() ? UtcTimestamp() : content.input.generated_at;
  model["facts"] = PairsJson(FactsOf(content));
  model["constants"] = PairsJson(content.results.constants());
  model["counts"] = CountsJson(content);
  model["loss_of"] = LossOf(content);
  model["figures"] = FiguresJson(LossOf(content));
  model["conditions"] = content.results.conditions();
  model["axes"] = AxesPart(content);
  model["metrics"] = MetricsPart(content);
  model["configurations"] = ConfigurationsPart(content);
  model["unmeasured"] = UnmeasuredPart(content);
  model["findings"] = FindingsPart(content);
  model["fronts"] = FrontsPart(content);
  model["lines"] = LinesPart(content);
  model["breakdowns"] = BreakdownsPart(content);
  model["predictions"] = PredictionsPart(content);
  model["published"] = PublishedPart(content);
  model["runs"] = RunsPart(content, limits);
  model["charts"] = ChartsJson(content);
  model["page"] = PagePart(content);
  return model;
}

}  // namespace assay::report
