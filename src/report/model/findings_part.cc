#include "report/fields.h"
#include "report/model/parts.h"

namespace assay::report {
namespace {

using nlohmann::json;

json ComparisonJson(const Comparison& comparison) {
  return {{"axis", comparison.property},
          {"from", ValueJson(comparison.from)},
          {"to", ValueJson(comparison.to)},
          {"together", comparison.together}};
}

}  // namespace

json LinkOf(const ReportContent& content, const Finding& finding) {
  const auto side = [](const space::Value& value) {
    const json side = ValueJson(value);
    return side.is_null() ? json("none") : side;
  };
  const auto run = [&](size_t at) { return content.results.configurations()[at].runs.front()->uid; };
  if (finding.comparison) {
    return {{"view", "compare"},
            {"by", AxisField(finding.comparison->property)},
            {"a", side(finding.comparison->from)},
            {"b", side(finding.comparison->to)}};
  }
  switch (finding.configurations.size()) {
    case 0:
      return nullptr;
    case 1:
      return {{"view", "run"}, {"run", run(finding.configurations[0])}};
    default:
      return {{"view", "compare"},
              {"by", "run"},
              {"a", run(finding.configurations[1])},
              {"b", run(finding.configurations[0])}};
  }
}

json FindingsPart(const ReportContent& content) {
  json list = json::array();
  for (const Finding& finding : content.findings.list) {
    list.push_back({{"strength", ToString(finding.strength)},
                    {"headline", finding.headline},
                    {"detail", finding.detail},
                    {"comparison", finding.comparison ? ComparisonJson(*finding.comparison) : json()},
                    {"configurations", finding.configurations},
                    {"link", LinkOf(content, finding)},
                    {"p", finding.p_value ? Rounded(*finding.p_value) : json()},
                    {"adjusted_p", finding.adjusted_p_value ? Rounded(*finding.adjusted_p_value) : json()}});
  }
  return {{"comparisons", content.findings.comparisons}, {"list", std::move(list)}};
}

json FrontsPart(const ReportContent& content) {
  json fronts = json::array();
  for (const Front& front : content.fronts) {
    fronts.push_back({{"x", MetricId(content.metrics[front.x])},
                      {"y", MetricId(content.metrics[front.y])},
                      {"configurations", front.configurations}});
  }
  return fronts;
}

}  // namespace assay::report
