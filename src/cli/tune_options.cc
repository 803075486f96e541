#include "cli/tune_options.h"

#include <fmt/format.h>

#include <limits>

#include "base/files.h"
#include "base/text.h"
#include "cli/launcher_options.h"
#include "cli/options.h"
#include "storage/open.h"

namespace assay::cli {
namespace {

/// "4", or "4; images 8" where a vision transformer has another default.
template <typename T>
std::string DefaultsOf(T job::TrainingPlan::* field) {
  const job::TunePlan language;
  const job::VitPlan vision;
  return language.*field == vision.*field ? fmt::format("{}", language.*field)
                                          : fmt::format("{}; images {}", language.*field, vision.*field);
}

/// An option for a field that plans of all kinds have.
template <typename T>
CLI::Option* AddField(CLI::App& app, TuneOptions& options, const char* flag, T job::TrainingPlan::* field,
                      const std::string& text) {
  const auto take = [&options, field](const T& value) {
    options.given.emplace_back([field, value](job::TrainingPlan& plan) { plan.*field = value; });
  };
  return app.add_option_function<T>(flag, take, text)->default_str(DefaultsOf(field));
}

void AddStepOptions(CLI::App& app, TuneOptions& options) {
  using Plan = job::TrainingPlan;
  const auto positive = WholeNumber(1);
  AddField(app, options, "--batch-size", &Plan::batch_size, "Of each data rank: rows a micro-batch, or images a step")
      ->check(positive);
  AddField(app, options, "--gradient-accumulation-steps", &Plan::gradient_accumulation_steps,
           "Micro-batches a step; images of a step are cut into so many")
      ->check(positive);
  AddField(app, options, "--max-steps", &Plan::max_steps,
           "Optimiser steps; 0 or -1: as many as --num-train-epochs asks for")
      ->check(WholeNumber(-1));
  AddField(app, options, "--num-train-epochs", &Plan::num_train_epochs, "Passes over the data")->check(positive);
  AddField(app, options, "--stop-after-seconds", &Plan::stop_after_seconds,
           "Stop after the first step beyond this; 0 or -1: never")
      ->check(Number(-1));
  const auto shuffle = [&options](int64_t count) {
    options.given.emplace_back([count](Plan& plan) { plan.shuffle = count > 0; });
  };
  app.add_flag_function("--shuffle,!--no-shuffle", shuffle,
                        "A seeded permutation an epoch instead of file order; of images the default");
  AddField(app, options, "--seed", &Plan::seed, "Of random weights, adapters, dropout, synthetic images and the order")
      ->check(WholeNumber(0, std::numeric_limits<int64_t>::max()));
  AddField(app, options, "--gradient-checkpointing", &Plan::gradient_checkpointing,
           "Layers that run again in backward instead of keeping activations (less memory, more time): off, on (as "
           "without a value), auto (as few as fit the memory), or how many; without this option off")
      ->expected(0, 1)
      ->default_str("on")
      ->option_text("[off|on|auto|N]")
      ->check([](const std::string& text) { return job::CheckpointedLayers(text).status().message(); });
}

void AddOptimizerOptions(CLI::App& app, TuneOptions& options) {
  using Plan = job::TrainingPlan;
  AddField(app, options, "--optim", &Plan::optimizer, "Optimiser");
  AddField(app, options, "--learning-rate", &Plan::learning_rate, "Peak learning rate, for any number of ranks")
      ->check(NotNegative());
  AddField(app, options, "--weight-decay", &Plan::weight_decay, "Decoupled; not on biases and norms")
      ->check(NotNegative());
  AddField(app, options, "--lr-scheduler-type", &Plan::lr_scheduler_type, "Learning rate over the steps")
      ->check(CLI::IsMember({"cosine", "linear", "constant"}));
  AddField(app, options, "--warmup-ratio", &Plan::warmup_ratio, "Share of the steps over which the rate rises")
      ->check(Number(0, 1));
  AddField(app, options, "--max-grad-norm", &Plan::max_grad_norm, "Gradients are clipped to this norm; 0: never")
      ->check(NotNegative());
}

void AddCheckpointOptions(CLI::App& app, TuneOptions& options) {
  using Plan = job::TrainingPlan;
  const auto not_negative = WholeNumber(0);
  AddField(
      app, options, "--save-every", &Plan::save_every,
      "Steps from one checkpoint, step-N in --output-dir, to the next; one more comes after the last step; 0: none")
      ->check(not_negative);
  const auto resume = [&options](int64_t count) {
    options.given.emplace_back([count](Plan& plan) { plan.resume = count > 0; });
  };
  app.add_flag_function("--resume", resume,
                        "Go on from the last whole checkpoint in --output-dir; begin anew where there is none");
  options.checkpoint_settings = {
      AddField(app, options, "--checkpoint-writer", &Plan::checkpoint_writer,
               "sync: the training waits for a checkpoint; async: it goes on while a copy of its state is written")
          ->check(CLI::IsMember({"sync", "async"})),
      AddField(app, options, "--local-dir", &Plan::local_dir,
               "Checkpoints are written here first, and to --output-dir while the training goes on")
          ->type_name("DIR"),
      AddField(app, options, "--keep", &Plan::keep, "Of the checkpoints the last so many; 0: all")->check(not_negative),
      AddField(app, options, "--keep-best", &Plan::keep_best,
               "And so many with the lowest loss: of the evaluation where there is one, else of the step")
          ->check(not_negative),
  };
}

void AddPlaceOptions(CLI::App& app, TuneOptions& options) {
  using Plan = job::TrainingPlan;
  AddField(app, options, "--device", &Plan::device, "Where it runs")->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  AddField(app, options, "--threads", &Plan::threads, "CPU threads a rank; 0: its share of all")
      ->check(WholeNumber(0, 4096));
  app.add_option("--memory-cap,--memory-budget", options.memory_budget,
                 "A rank's tensor memory beyond it is an out-of-memory outcome, for example 4GiB")
      ->check(ByteSize())
      ->type_name("BYTES");
  options.output_dir =
      AddField(app, options, "--output-dir", &Plan::output_dir,
               "Where --save, --save-every and --trace put their files; of checkpoints alone also a bucket's URI")
          ->type_name("DIR|URI");
  AddField(app, options, "--save", &Plan::save, "What is written at the end: the model, or the adapter of LoRA")
      ->check(CLI::IsMember({"none", "final"}));
  AddCheckpointOptions(app, options);
  constexpr int64_t kMostMib = int64_t{1} << 40;  // their bytes are a number of 64 bits
  options.max_shard_mib = AddField(app, options, "--max-shard-mib", &Plan::max_shard_mib,
                                   "Of the files that a model's weights are saved in")
                              ->check(WholeNumber(1, kMostMib));
  app.add_flag("--trace", options.trace, "Write what every rank did when to trace.json, for Chrome's trace viewer");
  app.add_option("--log-dir", options.log_dir,
                 "Each step and evaluation as it comes: lines of JSON in log.jsonl, and curves for TensorBoard")
      ->type_name("DIR");
  AddConfigOptions(app, options.config);
  AddWritePlanOption(app, options.write_plan);
  AddLauncherOptions(app, options.launcher);
  AddOutputOption(app, options.output, {"table", "json"});
}

/// What was asked for and would not be done is a mistake.
Status CheckCheckpointOptions(const TuneOptions& options, const job::TrainingPlan& plan) {
  for (const CLI::Option* setting : options.checkpoint_settings) {
    if (setting->count() > 0 && plan.save_every == 0) {
      return Status::InvalidArgument(
          fmt::format("{0} goes with --save-every N: add it, or leave {0} out", setting->get_name()));
    }
  }
  return plan.local_dir.empty() ? Status::Ok() : CheckWritableDirectory(plan.local_dir);
}

Status CompleteOutput(const TuneOptions& options, job::TrainingPlan& plan) {
  const bool needs_folder = plan.save != "none" || options.trace;
  const bool has_files = needs_folder || plan.save_every > 0 || plan.resume;
  if (has_files && plan.output_dir.empty()) {
    return Status::InvalidArgument(
        "--save final, --save-every, --resume and --trace need a place: add --output-dir DIR");
  }
  if (!has_files && options.output_dir->count() > 0) {
    return Status::InvalidArgument(
        "--output-dir is where --save final, --save-every and --trace put their files: add one of them, or leave "
        "--output-dir out");
  }
  const bool is_folder = plan.output_dir.find("://") == std::string::npos;
  if (has_files && !is_folder) {
    ASSAY_RETURN_IF_ERROR(storage::ParseStoreUri(plan.output_dir).status());
  }
  if (needs_folder && !is_folder) {
    return Status::InvalidArgument(
        "--save final and --trace write to a folder alone: leave them out, or name a folder with --output-dir");
  }
  if (plan.save == "none" && options.max_shard_mib->count() > 0) {
    return Status::InvalidArgument("--max-shard-mib goes with --save final: add it, or leave --max-shard-mib out");
  }
  ASSAY_RETURN_IF_ERROR(CheckCheckpointOptions(options, plan));
  plan.trace_dir = options.trace ? plan.output_dir : "";
  return has_files && is_folder ? CheckWritableDirectory(plan.output_dir) : Status::Ok();
}

}  // namespace

void AddSharedOptions(CLI::App& app, TuneOptions& options) {
  app.add_option("--model", options.model,
                 "Model folder (Hugging Face layout) or a name of assay model list; its kind decides what is trained")
      ->required()
      ->type_name("DIR|NAME");
  app.add_option(
         "--data", options.data,
         "Rows, one JSON object a line: output | prompt, completion | messages | input_ids, labels; or the id "
         "of a built-in data set; or a data set of shards, a folder or s3://bucket/prefix, whose rows are read "
         "while it trains (docs/shards.md). Of images: a folder with train/CLASS/*.jpg and validation/CLASS/*.jpg, "
         "digits (handwritten, built in), or a data set of shards with columns image and label")
      ->type_name("FILE|ID|DIR|URI");
  CLI::Option* cache = AddField(app, options, "--data-cache", &job::TrainingPlan::data_cache,
                                "A folder that keeps the shards of --data, for all ranks and runs")
                           ->type_name("DIR");
  const auto take_limit = [&options](const std::string& limit) {
    options.given.emplace_back(
        [bytes = *ParseBytes(limit)](job::TrainingPlan& plan) { plan.data_cache_bytes = bytes; });
  };
  app.add_option_function<std::string>("--data-cache-limit", take_limit, "What the folder may take")
      ->check(ByteSize())
      ->needs(cache)
      ->default_str(FormatBytes(static_cast<double>(job::TrainingPlan{}.data_cache_bytes)));
  AddStepOptions(app, options);
  AddOptimizerOptions(app, options);
  AddPlaceOptions(app, options);
  AddParallelOptions(app, options.parallel, options.knobs);
}

void TakeShared(const TuneOptions& options, job::TrainingPlan& plan) {
  static_cast<job::ParallelPlan&>(plan) = options.parallel;
  for (const auto& set : options.given) {
    set(plan);
  }
  plan.max_steps = plan.max_steps > 0 ? plan.max_steps : -1;
}

Status CompleteShared(const TuneOptions& options, job::TrainingPlan& plan) {
  ASSAY_RETURN_IF_ERROR(CompleteKnobs(options.knobs, plan).status());
  if (!options.memory_budget.empty()) {
    ASSAY_ASSIGN_OR_RETURN(plan.memory_budget_bytes, ParseBytes(options.memory_budget));
  }
  return CompleteOutput(options, plan);
}

}  // namespace assay::cli
