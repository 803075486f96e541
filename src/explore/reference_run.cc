#include "explore/reference_run.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "launch/launcher.h"

namespace assay::explore {
namespace {

using experiment::ReferenceStep;

/// Other programs, another libtorch or another machine may have other losses.
std::string FileOf(const experiment::ReferenceRun& reference, const std::string& made_by) {
  return reference.cache_dir + "/" + Sha256Hex(job::ToJson(reference.work).dump() + reference.key + made_by) + ".json";
}

/// Empty when there is no such file, or not one of ours: an array of [loss, norm].
std::vector<ReferenceStep> ReadSteps(const std::string& path) {
  const Result<nlohmann::json> json = ReadJsonFile(path);
  if (!json.ok() || !json->is_array()) {
    return {};
  }
  std::vector<ReferenceStep> steps;
  for (const nlohmann::json& step : *json) {
    if (!step.is_array() || step.size() != 2 || !step[0].is_number() || !step[1].is_number()) {
      return {};
    }
    steps.push_back({.loss = step[0].get<double>(), .grad_norm = step[1].get<double>()});
  }
  return steps;
}

nlohmann::json ToJson(const std::vector<ReferenceStep>& steps) {
  nlohmann::json json = nlohmann::json::array();
  for (const ReferenceStep& step : steps) {
    json.push_back({step.loss, step.grad_norm});
  }
  return json;
}

}  // namespace

Result<std::vector<ReferenceStep>> ReferenceSteps(const experiment::ReferenceRun& reference, const std::string& made_by,
                                                  const RunPlanFunction& run) {
  const std::string path = FileOf(reference, made_by);
  std::vector<ReferenceStep> steps = ReadSteps(path);
  if (!steps.empty()) {
    return steps;
  }
  ASSAY_ASSIGN_OR_RETURN(const job::RunRecord record, run(reference.work));
  if (record.end != job::RunEnd::kDone) {
    return launch::EndStatus(record).WithContext("the reference run that steps are held against");
  }
  for (const job::Step& step : job::Steps(record)) {
    steps.push_back({.loss = step.loss, .grad_norm = step.grad_norm});
  }
  if (MakeDirectories(reference.cache_dir).ok()) {
    // Without the file the next point makes the run again; that is all.
    (void)WriteFileAtomically(path, ToJson(steps).dump());
  }
  return steps;
}

}  // namespace assay::explore
