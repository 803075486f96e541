// What stands at the head of a report: how much was measured, when, on what.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/cell_state.h"
#include "report/report_content.h"

namespace assay::report {

/// "Measured", "When", and what the runs' provenance says of machine and programs; where it has many values the first.
std::vector<NamedText> FactsOf(const ReportContent& content);

/// How many points are in each state; those that were not measured too, where it is known how many there are.
std::map<CellState, size_t> CountsOf(const ReportContent& content);

/// The distinct values of a provenance entry over all measurements, in the order in which they came.
std::vector<std::string> ProvenanceValues(const ResultSet& results, std::string_view key);

}  // namespace assay::report
