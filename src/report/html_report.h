// The report: one HTML file that holds everything it needs and opens without a network.
#pragma once

#include <string>
#include <string_view>

#include "report/report_content.h"

namespace assay::report {

/// Words that every report holds near its end.
inline constexpr std::string_view kSignature = "<footer><p>Made by assay on ";

/// What was measured, on what and when; findings in sentences; charts (static SVG, read and printed without scripts); a
/// table that a small script makes sortable and filterable; the details and provenance of every point. Follows the
/// reader's light or dark preference. Any measurements make a page, none too.
std::string RenderHtmlReport(const ReportInput& input);

}  // namespace assay::report
