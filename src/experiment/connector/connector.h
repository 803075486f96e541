// connector_finetune_benchmark-v1.0.0: a data set in a bucket, from its rows to a fine-tune, by one connector or
// another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/planned_property.h"
#include "job/connector_plan.h"
#include "storage/read_options.h"

namespace assay::experiment {

using ConnectorProperty = Planned<job::ConnectorPlan>;

/// Who makes shards, streams them and trains on them.
struct ConnectorInfo {
  const char* name;
  bool is_ours = false;
  std::vector<std::string> schemes;  ///< that it reaches; ours all
  std::vector<std::string> compressions;
};
const std::vector<ConnectorInfo>& Connectors();
/// One of those, which `name` must be.
const ConnectorInfo& ConnectorNamed(const std::string& name);

/// Names and versions of the libraries that a connector is of, as the Python that has them says; empty of ours, and
/// where there is no such Python.
Result<std::string> LibrariesOf(const ConnectorInfo& connector, const std::string& share_dir);

/// Steps of a plan in the order in which a worker makes them, as ConnectorStep names them.
inline constexpr const char* kConnectorSteps[] = {"optimise",        "optimise_compressed", "count",     "size",
                                                  "stream",          "stream_compressed",   "fine_tune", "resume",
                                                  "fine_tune_local", "fine_tune_again"};

const std::vector<ConnectorProperty>& ConnectorProperties();
const std::vector<TargetSpec>& ConnectorTargets();
const ReportSections& ConnectorReport();
/// The experiential criteria of the test, of each connector, and the errors that users meet most.
std::vector<PublishedFigures> ConnectorCriteria();

/// The targets. An error where what was told is not of the whole test, or the same training had other losses for where
/// its data lay.
Result<Measured> MeasureConnector(const RunPlan& plan, const job::RunRecord& run);

struct RowsFile {
  std::string path;
  int64_t rows = 0;
  int64_t digest = 0;  ///< job/row_digest.h
};
/// The rows of a data set, by id or a file, as lines with the texts prompt and completion: in a file of the cache, made
/// where it is not there. Refuses rows of another kind.
Result<RowsFile> ConnectorRows(const std::string& data, const PlanContext& context);

/// What is at an endpoint that somebody chose is nobody's list price.
inline constexpr char kByScheme[] = "scheme";

/// USD for what stores of a scheme bill, and when that was so.
struct StorePrices {
  double thousand_reads = 0;
  double thousand_writes = 0;
  double gigabyte_month = 0;  ///< of 2^30 bytes
  std::string as_of;
};
/// Those of `priced_as` in prices/object-storage.yaml, or, where that is kByScheme, of the scheme of `uri`: nothing of
/// folders, and nothing where `variables`, or the files that stores look into, name an endpoint for that scheme.
Result<std::optional<StorePrices>> PricesOf(const std::string& uri, const std::string& priced_as,
                                            const std::string& share_dir, const storage::VariableLookup& variables);

}  // namespace assay::experiment
