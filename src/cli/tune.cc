// assay tune: a fine-tune for its own sake.
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/live_progress.h"
#include "cli/options.h"
#include "cli/parallel_options.h"
#include "cli/tune_result.h"
#include "cli/verb.h"
#include "data/model_catalogue.h"
#include "data/model_size.h"
#include "data/prepare.h"
#include "launch/local_launcher.h"
#include "measure/machine.h"
#include "measure/nvml.h"

namespace assay::cli {
namespace {

struct TuneOptions {
  job::TunePlan plan;
  std::string model;
  std::string data;
  std::string response_template = std::string(data::kDefaultResponseTemplate);
  std::string target_modules;
  std::string memory_budget;
  std::string write_plan;
  std::string output;
  bool trace = false;
  GivenKnobs knobs;
  std::vector<const CLI::Option*> lora_settings;  ///< that an adapter folder brings itself
  const CLI::Option* adapter = nullptr;
};

/// What was asked for and would not be done is a mistake.
Status CheckLoraOptions(const TuneOptions& options) {
  const bool adapter = options.adapter->count() > 0;
  if (options.plan.method != "lora" && adapter) {
    return Status::InvalidArgument("--adapter goes with --method lora: add it, or leave --adapter out");
  }
  for (const CLI::Option* setting : options.lora_settings) {
    if (setting->count() > 0 && options.plan.method != "lora") {
      return Status::InvalidArgument(
          fmt::format("{0} goes with --method lora: add it, or leave {0} out", setting->get_name()));
    }
    if (setting->count() > 0 && adapter) {
      return Status::InvalidArgument(
          fmt::format("{0} is what the adapter in {1} says itself: leave {0} out, or start without --adapter",
                      setting->get_name(), options.plan.lora.adapter_dir));
    }
  }
  return Status::Ok();
}

/// Of "auto" the worker decides: where there is a GPU that it may see, it may take that.
bool MayUseGpu(const std::string& device) {
  if (device != "auto") {
    return device == "cuda";
  }
  const auto nvml = measure::Nvml::Load();
  return nvml != nullptr && !measure::VisibleGpus(nvml->gpus()).empty();
}

/// The memory that is free here decides only about a run that needs it.
Status CheckFits(const data::ModelRef& model, const job::TunePlan& plan) {
  const data::TrainingKind training = {.full = plan.method == "full", .dtype = plan.dtype, .optimizer = plan.optimizer};
  const Status fits = data::CheckTrainingFits(model, training, measure::FindMemoryRoom().free_bytes);
  return fits.ok() || MayUseGpu(plan.device) ? Status::Ok() : fits;
}

/// Makes the rows ready and says what about them will not be trained on.
Status CompleteData(const TuneOptions& options, const data::ModelRef& model, LiveProgress& progress,
                    job::TunePlan& plan) {
  progress.OnPhase("preparing " + options.data);
  data::DataSpec spec;
  spec.data = options.data;
  spec.tokenizer_dir = model.tokenizer_dir;
  spec.no_tokenizer = model.no_tokenizer;
  spec.response_template = options.response_template;
  spec.max_length = plan.model_max_length;
  spec.model_vocab_size = model.vocab_size;
  ASSAY_ASSIGN_OR_RETURN(const data::PreparedTokens tokens, data::PrepareTokens(spec));
  plan.tokens_file = tokens.tokens_file;
  plan.tokenizer = tokens.tokenizer;
  if (tokens.unsupervised_rows > 0) {
    progress.Print(
        fmt::format("{} of {} rows bear no loss at {} tokens: their responses are cut away (raise --model-max-length)",
                    tokens.unsupervised_rows, tokens.rows, plan.model_max_length));
  }
  return Status::Ok();
}

Status CompleteOutput(const TuneOptions& options, job::TunePlan& plan) {
  const bool writes = plan.save != "none" || options.trace;
  if (writes && plan.output_dir.empty()) {
    return Status::InvalidArgument("--save final and --trace need a folder: add --output-dir DIR");
  }
  plan.trace_dir = options.trace ? plan.output_dir : "";
  return writes ? CheckWritableDirectory(plan.output_dir) : Status::Ok();
}

/// Resolves the model and makes the data ready; fills in what the worker needs.
Status CompletePlan(const TuneOptions& options, LiveProgress& progress, job::TunePlan& plan) {
  ASSAY_RETURN_IF_ERROR(CheckLoraOptions(options));
  ASSAY_RETURN_IF_ERROR(CompleteKnobs(options.knobs, plan).status());
  ASSAY_RETURN_IF_ERROR(job::CheckParallel(plan));
  plan.max_steps = plan.max_steps > 0 ? plan.max_steps : -1;
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, data::ResolveModel(options.model, ShareDirectory()));
  plan.model_dir = model.dir;
  ASSAY_RETURN_IF_ERROR(CheckFits(model, plan));
  if (!options.target_modules.empty()) {
    plan.lora.target_modules = Split(options.target_modules, ',');
  } else {
    plan.lora.target_modules = data::DefaultLoraTargets(options.model);
  }
  if (!options.memory_budget.empty()) {
    ASSAY_ASSIGN_OR_RETURN(plan.memory_budget_bytes, ParseBytes(options.memory_budget));
  }
  ASSAY_RETURN_IF_ERROR(CompleteOutput(options, plan));
  return CompleteData(options, model, progress, plan);
}

/// Beside the weights that were trained on its ids: another one's would mean nothing to them.
Status SaveTokenizer(const job::TunePlan& plan, const job::RunRecord& record) {
  const auto* saved = job::FindEvent<job::Saved>(record);
  if (saved == nullptr || plan.method == "lora" || plan.tokenizer.empty()) {
    return Status::Ok();
  }
  return data::CopyTokenizer(plan.tokenizer, saved->path);
}

Status Run(const TuneOptions& options) {
  job::TunePlan plan = options.plan;
  job::RunRecord record;
  {
    LiveProgress progress(plan.stop_after_seconds);
    ASSAY_RETURN_IF_ERROR(CompletePlan(options, progress, plan));
    if (!options.write_plan.empty()) {
      return WritePlan(plan, options.write_plan);
    }
    launch::LaunchOptions launch;
    launch.on_event = [&progress](const job::Event& event) { progress.OnEvent(event); };
    ASSAY_ASSIGN_OR_RETURN(record, launch::RunWorker(plan, launch));
  }
  ASSAY_RETURN_IF_ERROR(SaveTokenizer(plan, record));
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
      ->check(WholeNumber(1, 131072))
      ->capture_default_str();
  app.add_flag("--shuffle", options.plan.shuffle, "A seeded permutation an epoch instead of file order");
}

void AddMethodOptions(CLI::App& app, TuneOptions& options) {
  job::LoraOptions& lora = options.plan.lora;
  app.add_option("--method", options.plan.method, "What is trained")
      ->check(CLI::IsMember({"full", "lora"}))
      ->capture_default_str();
  options.lora_settings = {
      app.add_option("--lora-rank", lora.rank, "Rank of the update")
          ->check(WholeNumber(1, 65536))
          ->capture_default_str(),
      app.add_option("--lora-alpha", lora.alpha, "The update is scaled by alpha / rank")
          ->check(NotNegative())
          ->capture_default_str(),
      app.add_option("--lora-dropout", lora.dropout, "Dropout on the update's input")
          ->check(Number(0, 0.99))
          ->capture_default_str(),
      app.add_option("--target-modules", options.target_modules,
                     "Modules that get an update, comma separated, as peft names them [q_proj,v_proj]")
          ->check([](const std::string& text) { return text.empty() ? "names no module" : ""; })
          ->type_name("A,B")};
  options.adapter =
      app.add_option("--adapter", lora.adapter_dir, "Start from this peft adapter folder")->type_name("DIR");
}

void AddTrainingOptions(CLI::App& app, job::TunePlan& plan) {
  const auto positive = WholeNumber(1);
  app.add_option("--batch-size", plan.batch_size, "Rows a micro-batch, of each rank")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--gradient-accumulation-steps", plan.gradient_accumulation_steps, "Micro-batches a step")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--max-steps", plan.max_steps, "Optimiser steps; 0 or -1: as many as --num-train-epochs asks for")
      ->check(WholeNumber(-1))
      ->capture_default_str();
  app.add_option("--num-train-epochs", plan.num_train_epochs, "Passes over the data")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--stop-after-seconds", plan.stop_after_seconds,
                 "Stop after the first step beyond this; 0 or -1: never")
      ->check(Number(-1))
      ->capture_default_str();
  app.add_option("--dtype", plan.dtype, "Of parameters and activations")
      ->check(CLI::IsMember({"float32", "bfloat16", "float16"}))
      ->capture_default_str();
  app.add_option(
         "--gradient-checkpointing", plan.gradient_checkpointing,
         "Layers that run again in backward instead of keeping activations (less memory, more time): off, on (as "
         "without a value), auto (as few as fit the memory), or how many; without this option off")
      ->expected(0, 1)
      ->default_str("on")
      ->option_text("[off|on|auto|N]")
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
      ->check(Number(0, 1))
      ->capture_default_str();
  app.add_option("--max-grad-norm", plan.max_grad_norm, "Gradients are clipped to this norm; 0: never")
      ->check(NotNegative())
      ->capture_default_str();
  app.add_option("--seed", plan.seed, "Of random weights, adapters, dropout and shuffling")
      ->check(WholeNumber(0, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
}

void AddMachineOptions(CLI::App& app, TuneOptions& options) {
  app.add_option("--device", options.plan.device, "Where it runs")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--threads", options.plan.threads, "CPU threads a rank; 0: its share of all")
      ->check(WholeNumber(0, 4096))
      ->capture_default_str();
  app.add_option("--memory-cap,--memory-budget", options.memory_budget,
                 "A rank's tensor memory beyond it is an out-of-memory outcome, for example 4GiB")
      ->check(ByteSize())
      ->type_name("BYTES");
  app.add_option("--output-dir", options.plan.output_dir, "Where --save and --trace put their files")->type_name("DIR");
  app.add_option("--save", options.plan.save, "What is written at the end: the model, or the adapter of LoRA")
      ->check(CLI::IsMember({"none", "final"}))
      ->capture_default_str();
}

}  // namespace

Action AddTune(CLI::App& app) {
  auto options = std::make_shared<TuneOptions>();
  AddDataOptions(app, *options);
  AddMethodOptions(app, *options);
  AddTrainingOptions(app, options->plan);
  AddMachineOptions(app, *options);
  AddParallelOptions(app, options->plan, options->knobs);
  app.add_flag("--trace", options->trace, "Write what every rank did when to trace.json, for Chrome's trace viewer");
  AddWritePlanOption(app, options->write_plan);
  AddOutputOption(app, options->output, {"table", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
