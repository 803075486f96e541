#include "report/fields.h"

#include <cctype>

#include "report/model/parts.h"

namespace assay::report {
namespace {

/// Letters, digits and underscores: of everything else Vega would make paths.
std::string Plain(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    c = byte < 0x80 && std::isalnum(byte) ? c : '_';
  }
  return text;
}

}  // namespace

std::string AxisField(const std::string& property) {
  return "a_" + Plain(property);
}

std::string FieldOf(const Axis& axis) {
  return AxisField(axis.property);
}

std::string FieldOf(const Metric& metric) {
  return "m_" + Plain(MetricId(metric));
}

}  // namespace assay::report
