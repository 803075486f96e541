// The report: one HTML file that holds everything it needs and opens without a network.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/fixed_cost.h"
#include "samplestore/measurement.h"

namespace assay::report {

/// Figures that somebody else published, to stand beside the measured ones.
struct PublishedTable {
  std::string title;
  std::string note;  ///< what it was measured on, and what to keep in mind
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< the first cell names the row
};

struct ReportInput {
  std::string title;                                         ///< of the page; plain text, as everything here
  std::string space_description;                             ///< what was asked; may be empty or have several lines
  std::span<const samplestore::Measurement> measurements;    ///< with their series, where charts are to show them
  size_t planned_points = 0;                                 ///< points times experiments of the space; 0: not known
  std::vector<PublishedTable> published;                     ///< shown after the results
  std::optional<PublishedFixedCosts> published_fixed_costs;  ///< shown with the cost lines
  std::string generated_at;                                  ///< UTC, ISO 8601; empty: now
};

/// Words that every report holds near its end.
inline constexpr std::string_view kSignature = "<footer><p>Made by assay on ";

/// What was measured, on what and when; findings in sentences; charts (static SVG, read and printed without scripts); a
/// table that a small script makes sortable and filterable; the details and provenance of every point. Follows the
/// reader's light or dark preference. Any measurements make a page, none too.
std::string RenderHtmlReport(const ReportInput& input);

}  // namespace assay::report
