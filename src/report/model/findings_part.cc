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

json FindingsPart(const ReportContent& content) {
  json list = json::array();
  for (const Finding& finding : content.findings.list) {
    list.push_back({{"strength", ToString(finding.strength)},
                    {"headline", finding.headline},
                    {"detail", finding.detail},
                    {"comparison", finding.comparison ? ComparisonJson(*finding.comparison) : json()},
                    {"configurations", finding.configurations},
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
