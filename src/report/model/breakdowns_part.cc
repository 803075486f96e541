#include <fmt/format.h>

#include <algorithm>

#include "report/breakdown.h"
#include "report/cost_model.h"
#include "report/model/parts.h"
#include "report/published.h"

namespace assay::report {
namespace {

using nlohmann::json;

/// Of runs alone: what an interval rests on needs no telling.
json ColumnJson(json told, const char* value, std::span<const std::optional<Estimate>> estimates) {
  json columns = EstimateColumns(estimates);
  told[value] = std::move(columns["value"]);
  for (const char* name : {"low", "high", "n"}) {
    told[name] = std::move(columns[name]);
  }
  return told;
}

json TableJson(const BreakdownTable& table) {
  json columns = json::array();
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const experiment::BreakdownColumn& column = table.columns[i];
    std::vector<std::optional<Estimate>> estimates;
    for (const auto& row : table.rows) {
      estimates.push_back(row.empty() ? std::nullopt : row[i]);
    }
    columns.push_back(ColumnJson({{"label", column.label},
                                  {"unit", column.unit},
                                  {"target", column.target},
                                  {"is_difference", !column.relative_to.empty()}},
                                 "values", estimates));
  }
  return {{"id", table.breakdown->id},
          {"title", table.breakdown->title},
          {"text", table.breakdown->text},
          {"columns", std::move(columns)}};
}

/// A target of each configuration in the unit that people see.
std::vector<std::optional<Estimate>> ColumnOf(const ReportContent& content, const experiment::Prediction& prediction,
                                              const std::string& target) {
  const experiment::BreakdownColumn column{
      .label = "", .unit = prediction.unit, .target = target, .factor = prediction.factor};
  std::vector<std::optional<Estimate>> estimates;
  for (const Configuration& configuration : content.results.configurations()) {
    estimates.push_back(EstimateOf(configuration, column));
  }
  return estimates;
}

/// In % of what was measured; nothing where either is not known.
json OffBy(const json& measured, const json& predicted) {
  json off = json::array();
  for (size_t i = 0; i < measured.size(); ++i) {
    const bool is_known = !predicted[i].is_null() && !measured[i].is_null() && measured[i] != 0;
    off.push_back(is_known ? Rounded(100 * (predicted[i].get<double>() / measured[i].get<double>() - 1)) : json());
  }
  return off;
}

/// `told` with the columns of what was measured and of what had been foretold of it.
json PredictionJson(json told, std::span<const std::optional<Estimate>> measured, json predicted) {
  json prediction = ColumnJson(std::move(told), "measured", measured);
  prediction["off"] = OffBy(prediction["measured"], predicted);
  prediction["predicted"] = std::move(predicted);
  return prediction;
}

json DeclaredPrediction(const ReportContent& content, const experiment::Prediction& prediction) {
  return PredictionJson({{"title", prediction.title},
                         {"text", prediction.text},
                         {"unit", prediction.unit},
                         {"target", prediction.target}},
                        ColumnOf(content, prediction, prediction.target),
                        EstimateColumns(ColumnOf(content, prediction, prediction.predicted))["value"]);
}

/// Of each step time what the line through the other batch sizes says; null where the report has no step times.
json StepTimePrediction(const ReportContent& content) {
  const Metric* step = FindMetric(content.metrics, MetricKind::kStepSeconds);
  if (step == nullptr) {
    return nullptr;
  }
  std::vector<std::optional<Estimate>> measured;
  for (const Configuration& configuration : content.results.configurations()) {
    measured.push_back(content.estimates.Of(configuration, *step));
  }
  json predicted = json::array_t(measured.size());
  for (const Foretold& foretold : ForetellByOthers(content.results, content.lines, content.metrics)) {
    predicted[foretold.point->index] = Rounded(foretold.step_seconds);
  }
  json told = {
      {"title", "Step time, from the other batch sizes"},
      {"text",
       "Each point by the line through the other batch sizes of its series, so that it never foretells itself."},
      {"unit", step->unit},
      {"target", step->property},
      {"basis", EstimateColumns(measured)["basis"]}};
  return PredictionJson(std::move(told), measured, std::move(predicted));
}

bool HasAny(const json& values) {
  return std::ranges::any_of(values, [](const json& value) { return !value.is_null(); });
}

}  // namespace

json BreakdownsPart(const ReportContent& content) {
  json tables = json::array();
  for (const BreakdownTable& table : content.breakdowns) {
    tables.push_back(TableJson(table));
  }
  return tables;
}

json PredictionsPart(const ReportContent& content) {
  json list = json::array();
  const auto add = [&](json told) {
    const auto is_same = [&](const json& other) { return other.at("target") == told.at("target"); };
    if (HasAny(told.at("measured")) && HasAny(told.at("predicted")) && std::ranges::none_of(list, is_same)) {
      told["field"] = fmt::format("p{}", list.size());
      list.push_back(std::move(told));
    }
  };
  for (const experiment::Experiment* experiment : content.results.declared().measured()) {
    for (const experiment::Prediction& prediction : experiment->declaration().report.predictions) {
      add(DeclaredPrediction(content, prediction));
    }
  }
  if (json told = StepTimePrediction(content); !told.is_null()) {
    add(std::move(told));
  }
  return list;
}

json PublishedPart(const ReportContent& content) {
  json list = json::array();
  for (const experiment::Experiment* experiment : content.results.declared().measured()) {
    for (const experiment::PublishedFigures& published : experiment->declaration().report.published) {
      for (const PublishedTable& table : BesidePublished(content.results, published)) {
        list.push_back(
            {{"title", table.title}, {"note", published.note}, {"columns", published.columns}, {"rows", table.rows}});
      }
    }
  }
  return list;
}

}  // namespace assay::report
