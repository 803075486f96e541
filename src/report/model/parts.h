// The parts of the report's model, a file each.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "report/model/report_model.h"

namespace assay::report {

/// Varying coordinates with their values, metrics with what is better.
nlohmann::json AxesPart(const ReportContent& content);
nlohmann::json MetricsPart(const ReportContent& content);
/// Columns over configurations: places on the axes, states, reasons, estimates, runs, machine groups.
nlohmann::json ConfigurationsPart(const ReportContent& content);
/// Columns over points that were not measured.
nlohmann::json UnmeasuredPart(const ReportContent& content);
nlohmann::json FindingsPart(const ReportContent& content);
nlohmann::json FrontsPart(const ReportContent& content);
/// Lines over the batch size, what they foretell of each point, and where they cross.
nlohmann::json LinesPart(const ReportContent& content);
/// Tables of parts that experiments declare, in columns over configurations; what others published.
nlohmann::json BreakdownsPart(const ReportContent& content);
/// What was foretold beside what was measured, in columns over configurations.
nlohmann::json PredictionsPart(const ReportContent& content);
nlohmann::json PublishedPart(const ReportContent& content);
/// Every run; values, provenance and series of those that the limits allow.
nlohmann::json RunsPart(const ReportContent& content, const ModelLimits& limits);

/// Where the page shows the configurations that a finding tells of: a view and what its address says; null: nowhere.
nlohmann::json LinkOf(const ReportContent& content, const Finding& finding);
/// Seven significant digits; null of what is not finite.
nlohmann::json Rounded(double value);
/// Null for None.
nlohmann::json ValueJson(const space::Value& value);
/// The name of a metric in models and exports: "throughput", or of one that reports know nothing of its property.
std::string MetricId(const Metric& metric);
/// Columns over configurations: value, n and basis, low, high, error and freedom; null where there is none, the last
/// four whole where nothing has an interval.
nlohmann::json EstimateColumns(std::span<const std::optional<Estimate>> estimates);
/// "runs", "steps", "none".
std::string_view BasisName(Basis basis);
/// The codes of an axis; -1 of what has none of its values.
nlohmann::json CodesJson(const std::vector<uint32_t>& codes, const Axis& axis);

}  // namespace assay::report
