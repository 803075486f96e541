#include "job/tune_plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
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
  visit("use_rslora", lora.use_rslora);
  visit("use_dora", lora.use_dora);
  visit("target_modules", lora.target_modules);
  visit("adapter_dir", lora.adapter_dir);
}

template <typename Prompt, typename Visitor>
void VisitPromptFields(Prompt& prompt, const Visitor& visit) {
  visit("length", prompt.length);
  visit("init", prompt.init);
  visit("init_text", prompt.init_text);
  visit("init_ids", prompt.init_ids);
  visit("adapter_dir", prompt.adapter_dir);
}

template <typename Plan, typename Visitor>
void VisitPlanFields(Plan& plan, const Visitor& visit) {
  VisitTrainingFields(plan, visit);
  visit("tokens_file", plan.tokens_file);
  visit("tokenizer", plan.tokenizer);
  visit("response_template", plan.response_template);
  visit("eval_tokens_file", plan.eval_tokens_file);
  visit("eval_every", plan.eval_every);
  visit("early_stopping", plan.early_stopping);
  visit("method", plan.method);
  visit("quantize_bits", plan.quantize_bits);
  visit("quantize_group_size", plan.quantize_group_size);
  visit("packing", plan.packing);
  visit("model_max_length", plan.model_max_length);
  visit("dtype", plan.dtype);
  visit("loss_scale", plan.loss_scale);
  visit("label_smoothing", plan.label_smoothing);
  visit("neftune_noise_alpha", plan.neftune_noise_alpha);
  visit("auto_stop_method", plan.auto_stop_method);
}

constexpr char kOptimizerOverRanks[] = "adamw_torch";

/// What language models cannot be trained with, and what to do instead.
Status CheckPluginSuits(const PluginInfo& plugin) {
  if (plugin.precision.starts_with("amp_")) {
    return Status::Unsupported(std::string(plugin.name) +
                               " is autocast, which language models are not trained under: choose another plugin, for "
                               "example torch_ddp, with dtype float16");
  }
  return Status::Ok();
}

/// Pieces of a batch must be whole rows.
Status CheckPieces(const TunePlan& plan) {
  if (plan.batch_size % MicroBatches(plan) != 0) {
    return Status::InvalidArgument("batch_size " + std::to_string(plan.batch_size) +
                                   " does not divide into microbatches " + std::to_string(MicroBatches(plan)));
  }
  return Status::Ok();
}

/// One rank without a plugin has nobody to send to.
Status CheckAlone(const TunePlan& plan) {
  const json given = KnobsToJson(plan.knobs);
  const json defaults = KnobsToJson(PluginKnobs());
  for (const auto& [name, value] : given.items()) {
    if (!IsOverRanks(plan) && value != defaults[name]) {
      return Status::InvalidArgument(
          name + " is " + value.dump() +
          ", but one rank shares its work with nobody: leave it out, or take number_ranks 2");
    }
  }
  return Status::Ok();
}

}  // namespace

std::string DescribeWeights(bool from_file, int64_t stored_bits, const TunePlan& plan) {
  const int64_t bits = stored_bits > 0 ? stored_bits : plan.quantize_bits;
  const std::string source = from_file ? "file" : "random";
  if (bits == 0) {
    return source;
  }
  const bool rounded = stored_bits == 0 || !from_file;
  return source + (rounded ? ", rounded to " : ", ") + std::to_string(bits) + " bits";
}

Status CheckQuantization(const TunePlan& plan) {
  constexpr int64_t kBits[] = {0, 2, 3, 4, 8};
  if (std::ranges::find(kBits, plan.quantize_bits) == std::end(kBits)) {
    return Status::InvalidArgument("quantize_bits is " + std::to_string(plan.quantize_bits) +
                                   ": it must be 2, 3, 4 or 8, or 0 for weights as they are");
  }
  if (plan.quantize_group_size < 1 && plan.quantize_group_size != -1) {
    return Status::InvalidArgument("quantize_group_size is " + std::to_string(plan.quantize_group_size) +
                                   ": it must be 1 or more, or -1 for all inputs of a layer");
  }
  return Status::Ok();
}

Status CheckTrainsQuantised(const TunePlan& plan) {
  if (plan.method == "full") {
    return Status::InvalidArgument(
        "quantised weights are not trained: choose the method lora or prompt, or an unquantised model");
  }
  if (IsOverRanks(plan)) {
    return Status::Unsupported("a quantised model is trained on one rank only, not on " +
                               std::to_string(plan.number_ranks) + ": choose number_ranks 1");
  }
  return Status::Ok();
}

Status CheckEvaluation(const TunePlan& plan) {
  if (plan.eval_tokens_file.empty() && (plan.eval_every > 0 || plan.early_stopping > 0)) {
    return Status::InvalidArgument(
        "eval_every and early_stopping need rows that are held out: name some, or leave out "
        "what asks for them");
  }
  if (plan.early_stopping > 0 && plan.eval_every == 0) {
    return Status::InvalidArgument("early_stopping needs evaluations on the way: set eval_every");
  }
  const bool each_has_one = plan.eval_every > 0 && plan.save_every % plan.eval_every == 0;
  if (plan.keep_best > 0 && plan.keep_best_by == "eval_loss" && !each_has_one) {
    return Status::InvalidArgument(
        "the best checkpoints by the evaluation loss need an evaluation at each: save_every " +
        std::to_string(plan.save_every) + " is no multiple of eval_every " + std::to_string(plan.eval_every));
  }
  return Status::Ok();
}

Status CheckParallel(const TunePlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const PluginInfo* plugin, FindPlugin(plan.plugin));
  ASSAY_RETURN_IF_ERROR(CheckPluginSuits(*plugin));
  ASSAY_RETURN_IF_ERROR(CheckKnobs(*plugin, plan.knobs, plan.number_ranks));
  ASSAY_RETURN_IF_ERROR(CheckAlone(plan));
  ASSAY_RETURN_IF_ERROR(CheckPieces(plan));
  if (IsOverRanks(plan) && plan.optimizer != kOptimizerOverRanks) {
    return Status::Unsupported("optimizer '" + plan.optimizer + "' is not supported over ranks, only '" +
                               kOptimizerOverRanks + "'");
  }
  if (IsOverRanks(plan) && !plan.sample.prompt_ids.empty()) {
    return Status::Unsupported(
        "a sample of text is made by one rank without a plugin: leave it out, or make one afterwards "
        "(assay generate)");
  }
  return plan.quantize_bits == 0 ? Status::Ok() : CheckTrainsQuantised(plan);
}

int64_t MicroBatches(const TunePlan& plan) {
  const int64_t when_unset = plan.knobs.pp_size > 1 ? plan.batch_size : 1;
  return plan.knobs.microbatches > 0 ? plan.knobs.microbatches : when_unset;
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
  json prompt;
  VisitPromptFields(plan.prompt, [&](const char* name, const auto& field) { prompt[name] = field; });
  object["prompt"] = std::move(prompt);
  json sample;
  VisitSampleFields(plan.sample, [&](const char* name, const auto& field) { sample[name] = field; });
  object["sample"] = std::move(sample);
  object["knobs"] = KnobsToJson(plan.knobs);
  return object;
}

Result<TunePlan> TunePlanFromJson(const json& object) {
  ASSAY_RETURN_IF_ERROR(CheckPlanSchema(object, TunePlan::kSchema));
  TunePlan plan;
  const FieldReader reader(object);
  VisitPlanFields(plan, reader);
  ASSAY_RETURN_IF_ERROR(reader.Finish({"schema", "lora", "prompt", "sample", "knobs"}, kPlanSource));
  ASSAY_RETURN_IF_ERROR(ReadKnobs(object, plan.knobs));
  if (const auto lora = object.find("lora"); lora != object.end()) {
    const FieldReader lora_reader(*lora);
    VisitLoraFields(plan.lora, lora_reader);
    ASSAY_RETURN_IF_ERROR(lora_reader.Finish({}, std::string(kPlanSource) + ": lora"));
  }
  if (const auto prompt = object.find("prompt"); prompt != object.end()) {
    const FieldReader prompt_reader(*prompt);
    VisitPromptFields(plan.prompt, prompt_reader);
    ASSAY_RETURN_IF_ERROR(prompt_reader.Finish({}, std::string(kPlanSource) + ": prompt"));
  }
  if (const auto sample = object.find("sample"); sample != object.end()) {
    const FieldReader sample_reader(*sample);
    VisitSampleFields(plan.sample, sample_reader);
    ASSAY_RETURN_IF_ERROR(sample_reader.Finish({}, std::string(kPlanSource) + ": sample"));
  }
  return plan;
}

}  // namespace assay::job
