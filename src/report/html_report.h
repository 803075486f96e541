// The report: one HTML file that holds everything it needs and opens without a network.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "experiment/catalogue.h"
#include "samplestore/measurement.h"

namespace assay::report {

struct ReportInput {
  std::string title;                                       ///< of the page; plain text, as everything here
  std::string space_description;                           ///< what was asked; may be empty or have several lines
  std::span<const samplestore::Measurement> measurements;  ///< with their series, where charts are to show them
  size_t planned_points = 0;                               ///< points times experiments of the space; 0: not known
  std::string generated_at;                                ///< UTC, ISO 8601; empty: now
  /// Those that may have been measured: they declare how that is shown.
  experiment::Experiments catalogue = experiment::AllExperiments();
};

/// Words that every report holds near its end.
inline constexpr std::string_view kSignature = "<footer><p>Made by assay on ";

/// What was measured, on what and when; findings in sentences; charts (static SVG, read and printed without scripts); a
/// table that a small script makes sortable and filterable; the details and provenance of every point. Follows the
/// reader's light or dark preference. Any measurements make a page, none too.
std::string RenderHtmlReport(const ReportInput& input);

}  // namespace assay::report
