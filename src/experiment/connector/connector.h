// connector_finetune_benchmark-v1.0.0: a data set in a bucket, from its rows to a fine-tune, by one connector or
// another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/planned_property.h"
#include "job/connector_plan.h"

namespace assay::experiment {

using ConnectorProperty = Planned<job::ConnectorPlan>;

/// Who makes shards, streams them and trains on them.
struct ConnectorInfo {
  const char* name;
  bool is_ours = false;
  std::vector<std::string> schemes;  ///< that it reaches; ours all
  std::vector<std::string> compressions;
  bool is_supported = true;
};
const std::vector<ConnectorInfo>& Connectors();
/// One of those, which `name` must be.
const ConnectorInfo& ConnectorNamed(const std::string& name);

/// Steps of a plan in the order in which a worker makes them, as ConnectorStep names them.
inline constexpr const char* kConnectorSteps[] = {"optimise", "optimise_compressed", "count",  "size",
                                                  "stream",   "fine_tune",           "resume", "fine_tune_local"};

const std::vector<ConnectorProperty>& ConnectorProperties();
const std::vector<TargetSpec>& ConnectorTargets();
const ReportSections& ConnectorReport();
PublishedFigures ConnectorCriteria();

/// The targets. An error where a step is missing, or the same training had other losses for where its data lay.
Result<Measured> MeasureConnector(const RunPlan& plan, const job::RunRecord& run);

/// The rows of a data set, by id or a file, as lines with the texts prompt and completion: in a file of the cache, made
/// where it is not there. Refuses rows of another kind.
Result<std::string> ConnectorRows(const std::string& data, const PlanContext& context);

/// USD for what stores of a scheme bill, and when that was so.
struct StorePrices {
  double thousand_reads = 0;
  double thousand_writes = 0;
  double gigabyte_month = 0;
  std::string as_of;
};
/// Of the scheme of `uri`, in prices/object-storage.yaml; nothing of folders.
Result<std::optional<StorePrices>> PricesOf(const std::string& uri, const std::string& share_dir);

}  // namespace assay::experiment
