#include "engine/train/plan_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/files.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/schedule.h"

namespace assay::engine {
namespace {

struct LowerBound {
  std::string_view field;
  double value;
  double least;
};

Status check_bounds(std::initializer_list<LowerBound> bounds) {
  for (const LowerBound& bound : bounds) {
    if (!(bound.value >= bound.least)) {
      return Status::InvalidArgument(
          fmt::format("{} is {}: it must be {} or more", bound.field, bound.value, bound.least));
    }
  }
  return Status::Ok();
}

Status check_choice(std::string_view field, std::string_view value, std::initializer_list<std::string_view> choices) {
  return std::ranges::find(choices, value) != choices.end()
             ? Status::Ok()
             : Status::InvalidArgument(
                   fmt::format("{} is '{}': it must be '{}'", field, value, fmt::join(choices, "' or '")));
}

Status check_paths(const job::TunePlan& plan) {
  if (plan.model_dir.empty()) {
    return Status::InvalidArgument("the plan has no model_dir: name a Hugging Face model folder");
  }
  if (plan.tokens_file.empty() == plan.data_uri.empty()) {
    return Status::InvalidArgument(
        "the plan has no rows: name a tokens_file of tokenised rows, or the data_uri of a data set of shards");
  }
  return Status::Ok();
}

/// A place for what is written: a folder for weights, for checkpoints a bucket as well.
Status check_output(const job::TrainingPlan& plan) {
  const bool has_checkpoints = plan.save_every > 0 || plan.resume;
  ASSAY_RETURN_IF_ERROR(check_bounds({{"save_every", static_cast<double>(plan.save_every), 0},
                                      {"keep", static_cast<double>(plan.keep), 0},
                                      {"keep_best", static_cast<double>(plan.keep_best), 0}}));
  ASSAY_RETURN_IF_ERROR(check_choice("keep_best_by", plan.keep_best_by, {"loss", "eval_loss"}));
  ASSAY_RETURN_IF_ERROR(check_choice("checkpoint_writer", plan.checkpoint_writer, {"sync", "async"}));
  if (plan.save == "none" && !has_checkpoints) {
    return Status::Ok();
  }
  if (plan.output_dir.empty()) {
    return Status::InvalidArgument("save, save_every and resume need an output_dir: name a folder");
  }
  return plan.save == "none" ? Status::Ok() : CheckWritableDirectory(plan.output_dir);
}

}  // namespace

Status check_plan(const job::TunePlan& plan) {
  ASSAY_RETURN_IF_ERROR(check_choice("method", plan.method, {"full", "lora", "prompt"}));
  ASSAY_RETURN_IF_ERROR(check_choice("save", plan.save, {"none", "final"}));
  ASSAY_RETURN_IF_ERROR(check_optimizer_name(plan.optimizer));
  ASSAY_RETURN_IF_ERROR(job::CheckQuantization(plan));
  ASSAY_RETURN_IF_ERROR(job::CheckParallel(plan));
  constexpr int64_t kAnySteps = 1;
  ASSAY_RETURN_IF_ERROR(
      Schedule::create(plan.lr_scheduler_type, plan.learning_rate, plan.warmup_ratio, kAnySteps).status());
  ASSAY_RETURN_IF_ERROR(job::CheckpointedLayers(plan.gradient_checkpointing).status());
  ASSAY_RETURN_IF_ERROR(job::LossScale(plan.loss_scale).status());
  ASSAY_RETURN_IF_ERROR(check_bounds({
      {"batch_size", static_cast<double>(plan.batch_size), 1},
      {"gradient_accumulation_steps", static_cast<double>(plan.gradient_accumulation_steps), 1},
      {"model_max_length", static_cast<double>(plan.model_max_length), 1},
      {"weight_decay", plan.weight_decay, 0},
      {"max_grad_norm", plan.max_grad_norm, 0},
      {"memory_budget_bytes", static_cast<double>(plan.memory_budget_bytes), 0},
      {"max_shard_mib", static_cast<double>(plan.max_shard_mib), 1},
      {"label_smoothing", plan.label_smoothing, 0},
      {"neftune_noise_alpha", plan.neftune_noise_alpha, 0},
      {"eval_every", static_cast<double>(plan.eval_every), 0},
      {"early_stopping", static_cast<double>(plan.early_stopping), 0},
  }));
  if (plan.label_smoothing > 1) {
    return Status::InvalidArgument(fmt::format("label_smoothing is {}: it must be 1 or less", plan.label_smoothing));
  }
  ASSAY_RETURN_IF_ERROR(check_paths(plan));
  ASSAY_RETURN_IF_ERROR(job::CheckEvaluation(plan));
  if (plan.packing && plan.tokens_file.empty()) {
    return Status::InvalidArgument("rows of a data set of shards come one by one: leave packing out");
  }
  return check_output(plan);
}

Status check_plan(const job::VitPlan& plan) {
  ASSAY_RETURN_IF_ERROR(job::CheckVitPlan(plan));
  return check_output(plan);
}

}  // namespace assay::engine
