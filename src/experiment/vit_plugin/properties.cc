#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "data/vision_models.h"
#include "experiment/training_ranks.h"
#include "experiment/vit_plugin/vit_plugin.h"

namespace assay::experiment {
namespace {

using space::Domain;
using space::Value;

std::vector<Value> PluginNames() {
  std::vector<Value> names;
  for (const job::PluginInfo& plugin : job::Plugins()) {
    names.emplace_back(std::string(plugin.name));
  }
  return names;
}

bool IsVisionModel(std::string_view text) {
  const auto models = data::VisionModels();
  return std::ranges::any_of(models, [&](const data::VisionModel& model) { return model.name == text; });
}

Domain Fractions() {
  return Choice({kNone, 0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0});
}

Domain SizesOrNone(std::initializer_list<int64_t> sizes) {
  std::vector<Value> values = {kNone};
  values.insert(values.end(), sizes.begin(), sizes.end());
  return Choice(std::move(values));
}

template <auto kField>
Status VitField(const Value& value, job::VitPlan& plan) {
  return Field<job::VitPlan, kField>(value, plan);
}

/// With what it brings along: properties that follow change it.
Status TakePlugin(const Value& value, job::VitPlan& plan) {
  Assign(value, plan.plugin);
  ASSAY_ASSIGN_OR_RETURN(const job::PluginInfo* plugin, job::FindPlugin(plan.plugin));
  plan.knobs = plugin->defaults;
  plan.precision = plugin->precision;
  return Status::Ok();
}

VitProperty Plugin() {
  PropertySpec spec =
      As({.label = "plugin", .stands_alone = true, .role = Role::kSeries, .baseline = std::string("torch_ddp")},
         Required("plugin", Choice(PluginNames()),
                  "how ranks share the work; in brackets the plugin's own precision and the knobs it reads"));
  std::ranges::transform(job::Plugins(), std::back_inserter(spec.notes), &job::DescribePlugin);
  return {std::move(spec), &TakePlugin};
}

void AddRequired(std::vector<VitProperty>& specs) {
  specs.push_back(Plugin());
  specs.push_back({As({.label = "batch size", .role = Role::kBatchSize},
                      Required("batch_size", Integers(1, 65537), "images of a data rank and step", "images")),
                   &VitField<&job::VitPlan::batch_size>});
  specs.push_back({As(
      {.label = "model", .stands_alone = true, .role = Role::kModel},
      NameOrPath(Required("model_name", Domain::AnyText(),
                          "an image model of the catalogue (assay model list lists them), or a Hugging Face folder"),
                 &IsVisionModel))});
  specs.push_back({As({.label = "GPUs", .role = Role::kGpus},
                      Required("number_gpus", Integers(0, kMaxRanks), "0 runs on the CPU, with number_ranks ranks")),
                   &DeviceOfGpus<job::VitPlan>});
}

void AddRun(std::vector<VitProperty>& specs) {
  specs.push_back({NumberOfRanks()});
  specs.push_back({Optional("max_train_steps", Integers(1, 100001), int64_t{20}, "measured optimiser steps", "steps"),
                   &VitField<&job::VitPlan::max_steps>});
  specs.push_back(
      {Own(Optional("protocol", Texts({"fair", "published"}), std::string("fair"),
                    "fair: warm-up until step times are stable, peaks of initialisation and training apart; "
                    "published: no warm-up, data made within the timed loop, peak never reset")),
       &VitField<&job::VitPlan::protocol>});
  specs.push_back({As({.label = "precision", .stands_alone = true},
                      Own(Optional("precision", TextsOrNone({"fp32", "bf16", "fp16", "amp_bf16", "amp_fp16", "fp8"}),
                                   kNone, "of the arithmetic; amp_ keeps fp32 parameters; None: the plugin's own"))),
                   &VitField<&job::VitPlan::precision>});
  specs.push_back(
      {As({.label = "checkpointing"},
          Optional("gradient_checkpointing", Domain::Binary(), true,
                   "keep only the inputs of encoder layers, and compute the rest again in the backward pass")),
       &CheckpointedField<job::VitPlan>});
  specs.push_back(
      {As({.label = "accumulation"}, Own(Optional("gradient_accumulation_steps", Integers(1, 1025), int64_t{1},
                                                  "micro-batches that batch_size is cut into"))),
       &VitField<&job::VitPlan::gradient_accumulation_steps>});
  specs.push_back({Optional("learning_rate", *Domain::Range(0, 10, std::nullopt), 5e-5,
                            "multiplied by the number of data ranks, as the reference does"),
                   &VitField<&job::VitPlan::learning_rate>});
  specs.push_back({Optional("memory_cap", Domain::AnyTextOrNone(), kNone,
                            "a rank's tensor memory beyond it is an out-of-memory outcome, for example 4GiB"),
                   &BytesField<job::VitPlan, &job::VitPlan::memory_budget_bytes>});
  specs.push_back(
      {Own(Optional("gate_steps", Integers(0, 1001), int64_t{3},
                    "losses of so many first steps must follow Torch DDP in fp32 on the same images; 0: not "
                    "checked",
                    "steps"))});
  specs.push_back({Optional("seed", Integers(0, int64_t{1} << 31), int64_t{42}, "of weights and images"),
                   &VitField<&job::VitPlan::seed>});
  specs.push_back({Own(Optional("threads", Integers(0, 1025), int64_t{0}, "CPU threads a rank; 0: its share")),
                   &VitField<&job::VitPlan::threads>});
}

template <auto kKnob>
Status TakeKnob(const Value& value, job::VitPlan& plan) {
  Assign(value, plan.knobs.*kKnob);
  return Status::Ok();
}

template <auto kKnob>
VitProperty Knob(const char* name, Domain domain, std::string unit = "") {
  return {Optional(name, std::move(domain), kNone, std::string(job::DescribeKnob(name)), std::move(unit)),
          &TakeKnob<kKnob>};
}

VitProperty OwnKnob(VitProperty knob) {
  knob.spec.own = true;
  return knob;
}

/// None is the plugin's own default.
void AddKnobs(std::vector<VitProperty>& specs) {
  specs.push_back(Knob<&job::PluginKnobs::zero_stage>("zero_stage", SizesOrNone({0, 1, 2})));
  specs.push_back(Knob<&job::PluginKnobs::bucket_mib>(
      "bucket_mib", SizesOrNone({1, 2, 4, 8, 12, 16, 24, 25, 32, 48, 64, 100, 128, 256}), "MiB"));
  specs.push_back(Knob<&job::PluginKnobs::overlap>("overlap", Choice({kNone, false, true})));
  specs.push_back(Knob<&job::PluginKnobs::no_sync>("no_sync", Choice({kNone, false, true})));
  specs.push_back(Knob<&job::PluginKnobs::prefetch>("prefetch", SizesOrNone({0, 1, 2, 3, 4, 8})));
  specs.push_back(OwnKnob(
      Knob<&job::PluginKnobs::min_chunk_size_m>("min_chunk_size_m", SizesOrNone({1, 2, 4, 8, 16, 32, 64, 128}))));
  specs.push_back(OwnKnob(
      Knob<&job::PluginKnobs::search_range_m>("search_range_m", SizesOrNone({0, 1, 2, 4, 8, 16, 32, 64, 128}))));
  specs.push_back(
      OwnKnob(Knob<&job::PluginKnobs::hidden_dim>("hidden_dim", SizesOrNone({192, 384, 768, 1024, 1280, 2048, 4096}))));
  specs.push_back(Knob<&job::PluginKnobs::shard_param_frac>("shard_param_frac", Fractions()));
  specs.push_back(Knob<&job::PluginKnobs::offload_optim_frac>("offload_optim_frac", Fractions()));
  specs.push_back(Knob<&job::PluginKnobs::offload_param_frac>("offload_param_frac", Fractions()));
  specs.push_back(Knob<&job::PluginKnobs::placement>("placement", TextsOrNone({"static", "auto"})));
  specs.push_back(Knob<&job::PluginKnobs::tp_size>("tp_size", SizesOrNone({1, 2, 4, 8})));
  specs.push_back(
      OwnKnob(Knob<&job::PluginKnobs::sequence_parallel>("sequence_parallel", Choice({kNone, false, true}))));
  specs.push_back(Knob<&job::PluginKnobs::pp_size>("pp_size", SizesOrNone({1, 2, 4, 8})));
  specs.push_back(Knob<&job::PluginKnobs::microbatches>("microbatches", SizesOrNone({1, 2, 4, 8, 16, 32})));
  specs.push_back(OwnKnob(Knob<&job::PluginKnobs::shard_ranks>("shard_ranks", SizesOrNone({1, 2, 4, 8, 16}))));
  specs.push_back(OwnKnob(Knob<&job::PluginKnobs::communication_dtype>(
      "communication_dtype", TextsOrNone({"float32", "bfloat16", "float16", "float8"}))));
}

}  // namespace

const std::vector<VitProperty>& VitPluginProperties() {
  static const std::vector<VitProperty> properties = [] {
    std::vector<VitProperty> specs;
    AddRequired(specs);
    AddRun(specs);
    AddKnobs(specs);
    return specs;
  }();
  return properties;
}

Result<job::VitPlan> VitPlanOf(const space::Entity& point) {
  job::VitPlan plan;
  plan.synthetic = true;
  plan.weight_decay = 0;
  plan.lr_scheduler_type = "constant";
  plan.warmup_ratio = 0;
  ASSAY_RETURN_IF_ERROR(TakeAll(VitPluginProperties(), point, plan));
  ASSAY_ASSIGN_OR_RETURN(const job::PluginInfo* plugin, job::FindPlugin(plan.plugin));
  plan.loss_scale = plan.precision == "fp16" || plan.precision == "amp_fp16" ? plugin->loss_scale : 1;
  plan.number_ranks = RanksOf(point);
  plan.learning_rate *= static_cast<double>(job::DataRanks(plan));
  return plan;
}

Verdict CheckVitPluginRules(const space::Entity& point) {
  if (std::string reason = RanksAgainstGpus(point); !reason.empty()) {
    return {std::move(reason)};
  }
  const Result<job::VitPlan> plan = VitPlanOf(point);
  const Status status = plan.ok() ? job::CheckVitPlan(*plan) : plan.status();
  return {status.ok() ? "" : status.message()};
}

}  // namespace assay::experiment
