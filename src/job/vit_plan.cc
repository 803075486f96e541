#include "job/vit_plan.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "job/plan_fields.h"

namespace assay::job {
namespace {

using nlohmann::json;

constexpr char kKind[] = "vit";

// The one list of a plan's fields: `visit(name, field)` for each, the knobs apart.
template <typename Plan, typename Visitor>
void VisitVitFields(Plan& plan, const Visitor& visit) {
  VisitTrainingFields(plan, visit);
  visit("num_labels", plan.num_labels);
  visit("train_file", plan.train_file);
  visit("eval_file", plan.eval_file);
  visit("synthetic", plan.synthetic);
  visit("synthetic_labels", plan.synthetic_labels);
  visit("image_mean", plan.image_mean);
  visit("image_std", plan.image_std);
  visit("precision", plan.precision);
  visit("loss_scale", plan.loss_scale);
  visit("protocol", plan.protocol);
  visit("max_warmup_steps", plan.max_warmup_steps);
  visit("evaluate_every_epoch", plan.evaluate_every_epoch);
  visit("dry_run", plan.dry_run);
}

Status CheckChoice(const char* name, const std::string& value, const std::vector<std::string>& choices) {
  if (std::ranges::find(choices, value) != choices.end()) {
    return Status::Ok();
  }
  std::string list;
  for (const std::string& choice : choices) {
    list += (list.empty() ? "" : ", ") + choice;
  }
  return Status::InvalidArgument(std::string(name) + " is '" + value + "': it must be one of " + list);
}

Status CheckNames(const VitPlan& plan) {
  ASSAY_RETURN_IF_ERROR(
      CheckChoice("precision", plan.precision, {"fp32", "bf16", "fp16", "amp_bf16", "amp_fp16", "fp8"}));
  ASSAY_RETURN_IF_ERROR(CheckChoice("protocol", plan.protocol, {"train", "published", "fair"}));
  ASSAY_RETURN_IF_ERROR(CheckChoice("lr_scheduler_type", plan.lr_scheduler_type, {"cosine", "linear", "constant"}));
  ASSAY_RETURN_IF_ERROR(CheckChoice("device", plan.device, {"auto", "cpu", "cuda"}));
  ASSAY_RETURN_IF_ERROR(CheckChoice("save", plan.save, {"none", "final"}));
  return CheckpointedLayers(plan.gradient_checkpointing).status();
}

Status CheckNumbers(const VitPlan& plan) {
  const std::array<std::tuple<const char*, double, double>, 10> kLeast = {{
      {"batch_size", plan.batch_size, 1},
      {"gradient_accumulation_steps", plan.gradient_accumulation_steps, 1},
      {"num_labels", plan.num_labels, 0},
      {"synthetic_labels", plan.synthetic_labels, 1},
      {"learning_rate", plan.learning_rate, 0},
      {"weight_decay", plan.weight_decay, 0},
      {"max_grad_norm", plan.max_grad_norm, 0},
      {"warmup_ratio", plan.warmup_ratio, 0},
      {"memory_budget_bytes", plan.memory_budget_bytes, 0},
      {"max_shard_mib", plan.max_shard_mib, 1},
  }};
  for (const auto& [name, value, least] : kLeast) {
    if (!(value >= least)) {
      return Status::InvalidArgument(std::string(name) + " is " + json(value).dump() + ": it must be at least " +
                                     json(least).dump());
    }
  }
  if (plan.warmup_ratio > 1) {
    return Status::InvalidArgument("warmup_ratio is " + json(plan.warmup_ratio).dump() + ": it must be from 0 to 1");
  }
  if (plan.max_steps == 0 || (plan.max_steps < 0 && plan.num_train_epochs < 1)) {
    return Status::InvalidArgument("there is nothing to train: max_steps is " + std::to_string(plan.max_steps) +
                                   ", num_train_epochs " + std::to_string(plan.num_train_epochs));
  }
  return Status::Ok();
}

Status CheckData(const VitPlan& plan) {
  if (plan.image_mean.size() != 3 || plan.image_std.size() != 3 ||
      !std::ranges::all_of(plan.image_std, [](double value) { return value > 0; })) {
    return Status::InvalidArgument("image_mean and image_std must have three numbers each, those of image_std above 0");
  }
  const bool has_images = !plan.train_file.empty() || !plan.data_uri.empty();
  if (plan.synthetic == has_images) {
    return Status::InvalidArgument(plan.synthetic ? "a plan with synthetic images cannot have a train_file"
                                                  : "the plan has no train_file and does not ask for synthetic images");
  }
  if (!plan.train_file.empty() && !plan.data_uri.empty()) {
    return Status::InvalidArgument("the plan has a train_file and a data_uri: images come from one of them");
  }
  if (plan.synthetic && plan.max_steps < 0) {
    return Status::InvalidArgument("synthetic images have no epochs; max_steps must say how many steps to train");
  }
  return Status::Ok();
}

/// Pieces of a batch must be whole images.
Status CheckBatch(const VitPlan& plan) {
  for (const auto& [name, pieces] : {std::pair{"gradient_accumulation_steps", plan.gradient_accumulation_steps},
                                     {"microbatches", std::max<int64_t>(plan.knobs.microbatches, 1)}}) {
    if (plan.batch_size % pieces != 0) {
      return Status::InvalidArgument("batch_size " + std::to_string(plan.batch_size) + " does not divide into " + name +
                                     " " + std::to_string(pieces));
    }
  }
  return Status::Ok();
}

/// A batch is cut in one way.
Status CheckPieces(const VitPlan& plan, const PluginInfo& plugin) {
  if (plan.gradient_accumulation_steps == 1 || !Reads(plugin, "microbatches")) {
    return Status::Ok();
  }
  return Status::InvalidArgument(plan.plugin + " cuts its batch by microbatches: leave gradient_accumulation_steps " +
                                 std::to_string(plan.gradient_accumulation_steps) + " out");
}

Status CheckPrecision(const VitPlan& plan, const PluginInfo& plugin) {
  if (plan.precision != "fp8" || GathersWeights(plugin, plan.knobs)) {
    return Status::Ok();
  }
  return Status::InvalidArgument(plan.plugin +
                                 " gathers no weights that could travel in 8 bits: choose another precision than fp8");
}

}  // namespace

Status CheckVitPlan(const VitPlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const PluginInfo* plugin, FindPlugin(plan.plugin));
  ASSAY_RETURN_IF_ERROR(CheckNames(plan));
  ASSAY_RETURN_IF_ERROR(CheckNumbers(plan));
  ASSAY_RETURN_IF_ERROR(CheckKnobs(*plugin, plan.knobs, plan.number_ranks));
  ASSAY_RETURN_IF_ERROR(CheckBatch(plan));
  ASSAY_RETURN_IF_ERROR(CheckPieces(plan, *plugin));
  ASSAY_RETURN_IF_ERROR(CheckPrecision(plan, *plugin));
  return CheckData(plan);
}

int64_t MicroBatches(const VitPlan& plan) {
  const int64_t when_unset = plan.knobs.pp_size > 1 ? plan.batch_size : plan.gradient_accumulation_steps;
  return plan.knobs.microbatches > 0 ? plan.knobs.microbatches : when_unset;
}

json ToJson(const VitPlan& plan) {
  json object = {{"schema", VitPlan::kSchema}, {"kind", kKind}};
  VisitVitFields(plan, [&](const char* name, const auto& field) { object[name] = field; });
  object["knobs"] = KnobsToJson(plan.knobs);
  return object;
}

Result<VitPlan> VitPlanFromJson(const json& object) {
  ASSAY_RETURN_IF_ERROR(CheckPlanSchema(object, VitPlan::kSchema));
  std::string kind;
  ASSAY_RETURN_IF_ERROR(ReadField(object, "kind", kind).WithContext(kPlanSource));
  if (kind != kKind) {
    return Status::InvalidArgument(std::string(kPlanSource) + ": 'kind' is '" + kind + "', not '" + kKind + "'");
  }
  VitPlan plan;
  const FieldReader reader(object);
  VisitVitFields(plan, reader);
  ASSAY_RETURN_IF_ERROR(reader.Finish({"schema", "kind", "knobs"}, kPlanSource));
  ASSAY_RETURN_IF_ERROR(ReadKnobs(object, plan.knobs));
  return plan;
}

}  // namespace assay::job
