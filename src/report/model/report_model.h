// The report as JSON: what the page draws, `assay report --output json` prints and others may read. Its schema is
// share/report/model.schema.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "report/report_content.h"

namespace assay::report {

/// Grows when a reader of the model must know.
inline constexpr int kModelSchema = 1;

/// First member of every model, by which one is known.
inline constexpr std::string_view kModelFormat = "assay report";

/// How much of the runs a model holds; the rest is told to be left out.
struct ModelLimits {
  size_t run_values = 120'000;    ///< single values (targets and provenance) of runs
  size_t series_points = 24'000;  ///< points of all series of all runs
  size_t lane_values = 20'000;    ///< single values of all lanes of all runs
};

/// Numbers have seven significant digits; what is not finite is null. Configurations stand in columns, each as long as
/// their number; a run's series are thinned, their extremes kept.
nlohmann::json ReportModel(const ReportContent& content, const ModelLimits& limits = {});

}  // namespace assay::report
