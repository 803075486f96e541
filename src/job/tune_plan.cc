#include "job/tune_plan.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "job/plan_fields.h"

namespace assay::job {
namespace {

using nlohmann::json;

// The one list of a plan's fields: `visit(name, field)` for each.
template <typename Lora, typename Visitor>
void VisitLoraFields(Lora& lora, const Visitor& visit) {
  visit("rank", lora.rank);
  visit("alpha", lora.alpha);
  visit("dropout", lora.dropout);
  visit("target_modules", lora.target_modules);
  visit("adapter_dir", lora.adapter_dir);
}

template <typename Plan, typename Visitor>
void VisitPlanFields(Plan& plan, const Visitor& visit) {
  visit("model_dir", plan.model_dir);
  visit("tokens_file", plan.tokens_file);
  visit("tokenizer", plan.tokenizer);
  visit("method", plan.method);
  visit("batch_size", plan.batch_size);
  visit("gradient_accumulation_steps", plan.gradient_accumulation_steps);
  visit("model_max_length", plan.model_max_length);
  visit("dtype", plan.dtype);
  visit("gradient_checkpointing", plan.gradient_checkpointing);
  visit("loss_scale", plan.loss_scale);
  visit("optimizer", plan.optimizer);
  visit("learning_rate", plan.learning_rate);
  visit("weight_decay", plan.weight_decay);
  visit("lr_scheduler_type", plan.lr_scheduler_type);
  visit("warmup_ratio", plan.warmup_ratio);
  visit("max_grad_norm", plan.max_grad_norm);
  visit("max_steps", plan.max_steps);
  visit("num_train_epochs", plan.num_train_epochs);
  visit("stop_after_seconds", plan.stop_after_seconds);
  visit("auto_stop_method", plan.auto_stop_method);
  visit("shuffle", plan.shuffle);
  visit("seed", plan.seed);
  visit("plugin", plan.plugin);
  visit("number_ranks", plan.number_ranks);
  visit("timeout_seconds", plan.timeout_seconds);
  visit("trace_dir", plan.trace_dir);
  visit("device", plan.device);
  visit("threads", plan.threads);
  visit("memory_budget_bytes", plan.memory_budget_bytes);
  visit("output_dir", plan.output_dir);
  visit("save", plan.save);
}

constexpr char kOptimizerOverRanks[] = "adamw_torch";

/// Plugins that language models cannot be trained with, and what to do instead.
Status CheckPluginSuits(const std::string& plugin) {
  if (plugin == "hybrid_parallel") {
    return Status::Unsupported("hybrid_parallel divides vision transformers alone: choose another plugin");
  }
  if (plugin == "torch_ddp_fp16") {
    return Status::Unsupported(
        "torch_ddp_fp16 is autocast, which language models are not trained under: choose torch_ddp, with dtype "
        "float16");
  }
  return Status::Ok();
}

}  // namespace

Status CheckParallel(const TunePlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const PluginInfo* plugin, FindPlugin(plan.plugin));
  ASSAY_RETURN_IF_ERROR(CheckPluginSuits(plan.plugin));
  ASSAY_RETURN_IF_ERROR(CheckKnobs(*plugin, plan.knobs, plan.number_ranks));
  if (IsOverRanks(plan) && plan.optimizer != kOptimizerOverRanks) {
    return Status::Unsupported("optimizer '" + plan.optimizer + "' is not supported over ranks, only '" +
                               kOptimizerOverRanks + "'");
  }
  return Status::Ok();
}

bool IsOverRanks(const TunePlan& plan) {
  return plan.number_ranks > 1 || plan.plugin != ParallelPlan{}.plugin;
}

Result<int64_t> CheckpointedLayers(std::string_view text) {
  if (text == "off") {
    return 0;
  }
  if (text == "on") {
    return std::numeric_limits<int64_t>::max();
  }
  if (text == "auto") {
    return kAutoCheckpointing;
  }
  int64_t layers = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), layers);
  if (error != std::errc() || end != text.data() + text.size() || layers < 0) {
    return Status::InvalidArgument("gradient_checkpointing is '" + std::string(text) +
                                   "': it must be off, on, auto or a number of layers");
  }
  return layers;
}

Result<double> LossScale(std::string_view text) {
  if (text == "off") {
    return 0.0;
  }
  if (text == "auto") {
    return kAutoLossScale;
  }
  double scale = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  if (error != std::errc() || end != text.data() + text.size() || !(scale > 0) || !std::isfinite(scale)) {
    return Status::InvalidArgument("loss_scale is '" + std::string(text) +
                                   "': it must be auto, off or a positive number");
  }
  return scale;
}

json ToJson(const TunePlan& plan) {
  json object = {{"schema", TunePlan::kSchema}};
  VisitPlanFields(plan, [&](const char* name, const auto& field) { object[name] = field; });
  json lora;
  VisitLoraFields(plan.lora, [&](const char* name, const auto& field) { lora[name] = field; });
  object["lora"] = std::move(lora);
  object["knobs"] = KnobsToJson(plan.knobs);
  return object;
}

Result<TunePlan> TunePlanFromJson(const json& object) {
  ASSAY_RETURN_IF_ERROR(CheckPlanSchema(object, TunePlan::kSchema));
  TunePlan plan;
  const FieldReader reader(object);
  VisitPlanFields(plan, reader);
  ASSAY_RETURN_IF_ERROR(reader.Finish({"schema", "lora", "knobs"}, kPlanSource));
  ASSAY_RETURN_IF_ERROR(ReadKnobs(object, plan.knobs));
  if (const auto lora = object.find("lora"); lora != object.end()) {
    const FieldReader lora_reader(*lora);
    VisitLoraFields(plan.lora, lora_reader);
    ASSAY_RETURN_IF_ERROR(lora_reader.Finish({}, std::string(kPlanSource) + ": lora"));
  }
  return plan;
}

}  // namespace assay::job
