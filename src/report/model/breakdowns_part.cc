#include <algorithm>

#include "report/breakdown.h"
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

json PredictionJson(const ReportContent& content, const experiment::Prediction& prediction) {
  json predicted = EstimateColumns(ColumnOf(content, prediction, prediction.predicted));
  return ColumnJson({{"title", prediction.title},
                     {"text", prediction.text},
                     {"unit", prediction.unit},
                     {"target", prediction.target},
                     {"predicted", std::move(predicted["value"])}},
                    "measured", ColumnOf(content, prediction, prediction.target));
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
  for (const experiment::Experiment* experiment : content.results.declared().measured()) {
    for (const experiment::Prediction& prediction : experiment->declaration().report.predictions) {
      json told = PredictionJson(content, prediction);
      const bool is_new =
          std::ranges::none_of(list, [&](const json& other) { return other.at("target") == told.at("target"); });
      if (is_new && HasAny(told.at("measured")) && HasAny(told.at("predicted"))) {
        list.push_back(std::move(told));
      }
    }
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
