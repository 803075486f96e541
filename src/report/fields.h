// Names of the records' fields that charts read: plain words, whatever the names of properties are.
#pragma once

#include <string>

#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {

/// "a_batch_size"
std::string FieldOf(const Axis& axis);
/// "m_throughput"; "m_throughput_low" and "_high" are the ends of its interval.
std::string FieldOf(const Metric& metric);
/// Of an axis by its property, also where it does not vary.
std::string AxisField(const std::string& property);

}  // namespace assay::report
