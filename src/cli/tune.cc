// assay tune: a fine-tune for its own sake.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/live_progress.h"
#include "cli/options.h"
#include "cli/tune_result.h"
#include "cli/verb.h"
#include "data/model_catalogue.h"
#include "data/prepare.h"
#include "launch/local_launcher.h"

namespace assay::cli {
namespace {

struct TuneOptions {
  job::TunePlan plan;
  std::string model;
  std::string data;
  std::string response_template = std::string(data::kDefaultResponseTemplate);
  std::string target_modules;
  std::string memory_budget;
  std::string output;
};

/// Resolves the model and makes the data ready; fills in what the worker needs.
Status CompletePlan(const TuneOptions& options, LiveProgress& progress, job::TunePlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, data::ResolveModel(options.model, ShareDirectory()));
  plan.model_dir = model.dir;
  if (!options.target_modules.empty()) {
    plan.lora.target_modules = Split(options.target_modules, ',');
  } else {
    plan.lora.target_modules = data::DefaultLoraTargets(options.model);
  }
  if (!options.memory_budget.empty()) {
    ASSAY_ASSIGN_OR_RETURN(plan.memory_budget_bytes, ParseBytes(options.memory_budget));
  }
  if (plan.save != "none" && plan.output_dir.empty()) {
    return Status::InvalidArgument("--save final needs a folder: add --output-dir DIR");
  }
  if (plan.save != "none") {
    ASSAY_RETURN_IF_ERROR(CheckWritableDirectory(plan.output_dir));
  }
  progress.OnPhase("preparing " + options.data);
  data::DataSpec spec;
  spec.data = options.data;
  spec.tokenizer_dir = model.tokenizer_dir;
  spec.response_template = options.response_template;
  spec.max_length = plan.model_max_length;
  spec.model_vocab_size = model.vocab_size;
  ASSAY_ASSIGN_OR_RETURN(const data::PreparedTokens tokens, data::PrepareTokens(spec));
  plan.tokens_file = tokens.tokens_file;
  return Status::Ok();
}

Status Run(const TuneOptions& options) {
  job::TunePlan plan = options.plan;
  job::RunRecord record;
  {
    LiveProgress progress(plan.stop_after_seconds);
    ASSAY_RETURN_IF_ERROR(CompletePlan(options, progress, plan));
    launch::LaunchOptions launch;
    launch.on_event = [&progress](const job::Event& event) { progress.OnEvent(event); };
    ASSAY_ASSIGN_OR_RETURN(record, launch::RunWorker(plan, launch));
  }
  if (options.output == "json") {
    fmt::print("{}\n", DumpJson(TuneResultJson(plan, record)));
  } else {
    fmt::print("{}", TuneResultTable(plan, record));
  }
  return launch::EndStatus(record);
}

void AddDataOptions(CLI::App& app, TuneOptions& options) {
  app.add_option("--model", options.model, "Model folder (Hugging Face layout) or a name of assay models")
      ->required()
      ->type_name("DIR|NAME");
  app.add_option("--data", options.data,
                 "Rows, one JSON object a line: output | prompt, completion | messages | input_ids, labels; "
                 "or the id of a built-in data set")
      ->required()
      ->type_name("FILE|ID");
  app.add_option("--response-template", options.response_template,
                 "In {\"output\"} rows everything up to and including it bears no loss")
      ->type_name("TEXT");
  app.add_option("--model-max-length", options.plan.model_max_length, "Rows are cut to so many tokens")
      ->check(CLI::Range(int64_t{1}, int64_t{131072}))
      ->capture_default_str();
  app.add_flag("--shuffle", options.plan.shuffle, "A seeded permutation an epoch instead of file order");
}

void AddMethodOptions(CLI::App& app, job::TunePlan& plan, std::string& target_modules) {
  app.add_option("--method", plan.method, "What is trained")
      ->check(CLI::IsMember({"full", "lora"}))
      ->capture_default_str();
  app.add_option("--lora-rank", plan.lora.rank, "Rank of the update")
      ->check(CLI::Range(int64_t{1}, int64_t{65536}))
      ->capture_default_str();
  app.add_option("--lora-alpha", plan.lora.alpha, "The update is scaled by alpha / rank")->capture_default_str();
  app.add_option("--lora-dropout", plan.lora.dropout, "Dropout on the update's input")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  app.add_option("--target-modules", target_modules,
                 "Modules that get an update, comma separated, as peft names them [q_proj,v_proj]")
      ->type_name("A,B");
  app.add_option("--adapter", plan.lora.adapter_dir, "Start from this peft adapter folder")->type_name("DIR");
}

void AddTrainingOptions(CLI::App& app, job::TunePlan& plan) {
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 40);
  app.add_option("--batch-size", plan.batch_size, "Rows a micro-batch")->check(positive)->capture_default_str();
  app.add_option("--gradient-accumulation-steps", plan.gradient_accumulation_steps, "Micro-batches a step")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--max-steps", plan.max_steps, "Optimiser steps; -1: as many as --num-train-epochs asks for")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--num-train-epochs", plan.num_train_epochs, "Passes over the data")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--stop-after-seconds", plan.stop_after_seconds, "Stop after the first step beyond this; -1: never")
      ->capture_default_str();
  app.add_option("--dtype", plan.dtype, "Of parameters and activations")
      ->check(CLI::IsMember({"float32", "bfloat16", "float16"}))
      ->capture_default_str();
  app.add_option("--gradient-checkpointing", plan.gradient_checkpointing,
                 "Layers that run again in backward instead of keeping activations (less memory, more time): off (the "
                 "default), on (also without a value), auto (as few as fit the memory), or how many")
      ->expected(0, 1)
      ->default_str("on")
      ->type_name("[off|on|auto|N]")
      ->check([](const std::string& text) { return job::CheckpointedLayers(text).status().message(); });
  app.add_option("--loss-scale", plan.loss_scale,
                 "Of float16: auto (adapted when gradients overflow; off in other dtypes), off, or a number to stay at")
      ->type_name("auto|off|N")
      ->check([](const std::string& text) { return job::LossScale(text).status().message(); })
      ->capture_default_str();
  app.add_option("--optim", plan.optimizer, "Optimiser")->capture_default_str();
  app.add_option("--learning-rate", plan.learning_rate, "Peak learning rate")
      ->check(NotNegative())
      ->capture_default_str();
  app.add_option("--weight-decay", plan.weight_decay, "Not on biases and norms")
      ->check(NotNegative())
      ->capture_default_str();
  app.add_option("--lr-scheduler-type", plan.lr_scheduler_type, "Learning rate over the steps")
      ->check(CLI::IsMember({"cosine", "linear", "constant"}))
      ->capture_default_str();
  app.add_option("--warmup-ratio", plan.warmup_ratio, "Share of the steps over which the rate rises")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--max-grad-norm", plan.max_grad_norm, "Gradients are clipped to this norm; 0: never")
      ->check(NotNegative())
      ->capture_default_str();
  app.add_option("--seed", plan.seed, "Of random weights, adapters, dropout and shuffling")->capture_default_str();
}

void AddMachineOptions(CLI::App& app, TuneOptions& options) {
  app.add_option("--device", options.plan.device, "Where it runs")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--threads", options.plan.threads, "CPU threads; 0: all")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_option("--memory-budget", options.memory_budget,
                 "Tensor memory beyond it is an out-of-memory outcome, for example 4GiB")
      ->check(ByteSize())
      ->type_name("BYTES");
  app.add_option("--output-dir", options.plan.output_dir, "Where --save puts its files")->type_name("DIR");
  app.add_option("--save", options.plan.save, "What is written at the end: the model, or the adapter of LoRA")
      ->check(CLI::IsMember({"none", "final"}))
      ->capture_default_str();
}

}  // namespace

Action AddTune(CLI::App& app) {
  auto options = std::make_shared<TuneOptions>();
  AddDataOptions(app, *options);
  AddMethodOptions(app, options->plan, options->target_modules);
  AddTrainingOptions(app, options->plan);
  AddMachineOptions(app, *options);
  AddOutputOption(app, options->output, {"table", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
