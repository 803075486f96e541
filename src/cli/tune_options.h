// What `assay tune` was asked for: the options that models of all kinds share, and places for those of one kind.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/parallel_options.h"
#include "cli/run_config.h"
#include "cli/verb.h"
#include "data/prepare.h"
#include "job/plan.h"
#include "launch/launchers.h"

namespace assay::cli {

/// Of language models alone.
struct LanguageOptions {
  job::TunePlan plan;  ///< its own fields as asked for, those of all kinds as they are by default
  std::string response_template = std::string(data::kDefaultResponseTemplate);
  std::string sample_prompt;
  std::string target_modules;
  std::string adapter_dir;
  std::string eval_data;
  double eval_share = 0;                            ///< of the rows of the data; 0: none
  std::vector<const CLI::Option*> eval_settings;    ///< that mean something only with rows to evaluate on
  std::vector<const CLI::Option*> lora_settings;    ///< that an adapter folder brings itself
  std::vector<const CLI::Option*> prompt_settings;  ///< likewise
  const CLI::Option* adapter = nullptr;
};

/// Of vision transformers alone.
struct VisionOptions {
  job::VitPlan plan;      ///< as LanguageOptions::plan
  std::string precision;  ///< empty: the plugin's own
  bool skip_corrupt = false;
  int64_t classes = 0;  ///< of a data set of shards; 0: as the model has them
};

struct TuneOptions {
  std::string model;
  std::string data;
  std::string memory_budget;
  std::string write_plan;
  ConfigOptions config;
  std::string output;
  std::string log_dir;
  bool trace = false;
  const CLI::Option* output_dir = nullptr;
  const CLI::Option* max_shard_mib = nullptr;
  std::vector<const CLI::Option*> checkpoint_settings;  ///< that mean something only where checkpoints are written
  job::ParallelPlan parallel;
  GivenKnobs knobs;
  launch::LauncherSettings launcher;
  /// Sets what was given of the fields that plans of all kinds have; each kind keeps its defaults of the others.
  std::vector<std::function<void(job::TrainingPlan&)>> given;
  LanguageOptions language;
  VisionOptions vision;
};

/// Declares what all kinds share. `options` outlives `app`.
void AddSharedOptions(CLI::App& app, TuneOptions& options);

/// Puts what was given of the shared options into `plan`.
void TakeShared(const TuneOptions& options, job::TrainingPlan& plan);

/// Knobs, limits and folders of a plan that took the shared options. Makes its output folder where it will be used.
Status CompleteShared(const TuneOptions& options, job::TrainingPlan& plan);

}  // namespace assay::cli
