#include <algorithm>

#include "report/breakdown.h"
#include "report/model/parts.h"
#include "report/published.h"

namespace assay::report {
namespace {

using nlohmann::json;

json TableJson(const BreakdownTable& table) {
  json columns = json::array();
  for (size_t i = 0; i < table.columns.size(); ++i) {
    json values = json::array();
    for (const auto& row : table.values) {
      values.push_back(row.empty() || !row[i] ? json() : Rounded(*row[i]));
    }
    columns.push_back({{"label", table.columns[i].label},
                       {"unit", table.columns[i].unit},
                       {"target", table.columns[i].target},
                       {"is_difference", !table.columns[i].relative_to.empty()},
                       {"values", std::move(values)}});
  }
  return {{"id", table.breakdown->id},
          {"title", table.breakdown->title},
          {"text", table.breakdown->text},
          {"columns", std::move(columns)}};
}

/// A target of each configuration in the unit that people see.
json ColumnOf(const ReportContent& content, const experiment::Prediction& prediction, const std::string& target) {
  const experiment::BreakdownColumn column{
      .label = "", .unit = prediction.unit, .target = target, .factor = prediction.factor};
  json values = json::array();
  for (const Configuration& configuration : content.results.configurations()) {
    const std::optional<double> value = BreakdownValue(column, configuration);
    values.push_back(value ? Rounded(*value) : json());
  }
  return values;
}

json PredictionJson(const ReportContent& content, const experiment::Prediction& prediction) {
  return {{"title", prediction.title},
          {"text", prediction.text},
          {"unit", prediction.unit},
          {"target", prediction.target},
          {"measured", ColumnOf(content, prediction, prediction.target)},
          {"predicted", ColumnOf(content, prediction, prediction.predicted)}};
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
