#include "explore/reference_run.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "launch/local_launcher.h"

namespace assay::explore {
namespace {

/// Other programs, another libtorch or another machine may have other losses.
std::string FileOf(const experiment::ReferenceRun& reference, const std::string& made_by) {
  return reference.cache_dir + "/" + Sha256Hex(job::ToJson(reference.work).dump() + reference.key + made_by) + ".json";
}

/// Empty when there is no such file, or not one of ours.
std::vector<double> ReadLosses(const std::string& path) {
  std::vector<double> losses;
  const Result<nlohmann::json> json = ReadJsonFile(path);
  if (json.ok() && json->is_array()) {
    for (const nlohmann::json& loss : *json) {
      losses.push_back(loss.is_number() ? loss.get<double>() : 0);
    }
  }
  return losses;
}

}  // namespace

Result<std::vector<double>> ReferenceLosses(const experiment::ReferenceRun& reference, const std::string& made_by,
                                            const RunPlanFunction& run) {
  const std::string path = FileOf(reference, made_by);
  std::vector<double> losses = ReadLosses(path);
  if (!losses.empty()) {
    return losses;
  }
  ASSAY_ASSIGN_OR_RETURN(const job::RunRecord record, run(reference.work));
  if (record.end != job::RunEnd::kDone) {
    return launch::EndStatus(record).WithContext("the reference run that losses are held against");
  }
  for (const job::Step& step : job::Steps(record)) {
    losses.push_back(step.loss);
  }
  if (MakeDirectories(reference.cache_dir).ok()) {
    // Without the file the next point makes the run again; that is all.
    (void)WriteFileAtomically(path, nlohmann::json(losses).dump());
  }
  return losses;
}

}  // namespace assay::explore
