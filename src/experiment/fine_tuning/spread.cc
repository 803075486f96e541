// How a fine-tune is spread over ranks: the reference's properties of accelerate and FSDP as a plugin of the engine,
// and the rules for those of their values that nothing here could carry out.
#include <fmt/format.h>

#include "architecture/families.h"
#include "base/text.h"
#include "experiment/fine_tuning/fine_tuning.h"
#include "experiment/training_ranks.h"

namespace assay::experiment {
namespace {

constexpr char kBackend[] = "distributed_backend";
constexpr char kStrategy[] = "fsdp_sharding_strategy";
constexpr char kStateDict[] = "fsdp_state_dict_type";
constexpr char kPrecision[] = "accelerate_config_mixed_precision";
constexpr char kWrapped[] = "accelerate_config_fsdp_transformer_layer_cls_to_wrap";

/// As the reference has it: FSDP where nothing is said. Empty: one rank, which shares nothing.
std::string BackendOf(const space::Entity& point) {
  if (RanksOf(point) == 1) {
    return "";
  }
  const std::string given = TextOf(point, kBackend);
  return given.empty() ? "FSDP" : given;
}

/// The engine has torch's names.
std::string PluginOf(const std::string& strategy) {
  return strategy == "HYBRID_SHARD_ZERO2" ? "_HYBRID_SHARD_ZERO2" : strategy;
}

std::string RanksOverNodes(const space::Entity& point) {
  const int64_t nodes = IntegerOf(point, "number_nodes");
  return RanksOf(point) % nodes == 0
             ? ""
             : fmt::format(
                   "number_ranks {} is not a multiple of number_nodes {}: the nodes could not have equally many",
                   RanksOf(point), nodes);
}

std::string BackendHasRanks(const space::Entity& point) {
  const std::string given = TextOf(point, kBackend);
  return given.empty() || RanksOf(point) > 1
             ? ""
             : fmt::format("{} is {}, but one rank has nothing to share: ask for two GPUs, or number_ranks 2", kBackend,
                           given);
}

std::string StrategyIsOfFsdp(const space::Entity& point) {
  const std::string strategy = TextOf(point, kStrategy);
  return strategy == "FULL_SHARD" || BackendOf(point) == "FSDP"
             ? ""
             : fmt::format("{} {} is of FSDP over two ranks or more: leave it at FULL_SHARD", kStrategy, strategy);
}

std::string NothingIsSaved(const space::Entity& point) {
  const std::string type = TextOf(point, kStateDict);
  return type == "FULL_STATE_DICT"
             ? ""
             : fmt::format("{} {} would change nothing: nothing is saved here, leave it at FULL_STATE_DICT", kStateDict,
                           type);
}

/// Parameters and arithmetic have one type, torch_dtype: there is no autocast for language models.
std::string PrecisionIsTheModels(const space::Entity& point) {
  const std::string precision = TextOf(point, kPrecision);
  if (precision == "no") {
    return "";
  }
  if (BackendOf(point).empty()) {
    return fmt::format("{} is {}, but accelerate starts two ranks or more: leave it at no", kPrecision, precision);
  }
  const std::string dtype = TextOf(point, "torch_dtype");
  const bool same = (precision == "bf16" && dtype == "bfloat16") || (precision == "fp16" && dtype == "float16");
  return same ? ""
              : fmt::format(
                    "{} {} asks for autocast, which language models are not trained under: choose torch_dtype "
                    "bfloat16 or float16 for all of it",
                    kPrecision, precision);
}

std::string WrappedIsOfFsdp(const space::Entity& point) {
  return TextOf(point, kWrapped).empty() || BackendOf(point) == "FSDP"
             ? ""
             : fmt::format("{} is of FSDP over two ranks or more: leave it at None", kWrapped);
}

using Rule = std::string (*)(const space::Entity& point);
constexpr Rule kSpreadRules[] = {&RanksAgainstGpus, &RanksOverNodes,       &BackendHasRanks, &StrategyIsOfFsdp,
                                 &NothingIsSaved,   &PrecisionIsTheModels, &WrappedIsOfFsdp};

}  // namespace

std::string CheckSpread(const space::Entity& point) {
  for (const Rule rule : kSpreadRules) {
    if (std::string reason = rule(point); !reason.empty()) {
      return reason;
    }
  }
  return "";
}

Status CheckWrapped(const space::Entity& point, const std::string& family) {
  const std::string wrapped = TextOf(point, kWrapped);
  const architecture::ModelFamily* row = architecture::FindFamily(family);
  for (const std::string& layer : Split(wrapped, ',')) {
    if (!wrapped.empty() && row != nullptr && layer != row->layer_class) {
      return Status::FailedPrecondition(
          fmt::format("{} names {}, but what is sharded together is a {}: name that, or leave it at None", kWrapped,
                      layer, row->layer_class));
    }
  }
  return Status::Ok();
}

Status SpreadOverRanks(const space::Entity& point, job::TunePlan& plan) {
  plan.number_ranks = RanksOf(point);
  plan.number_nodes = IntegerOf(point, "number_nodes");
  plan.batch_size /= plan.number_ranks;
  if (BackendOf(point) == "FSDP") {
    plan.plugin = PluginOf(TextOf(point, kStrategy));
  }
  ASSAY_ASSIGN_OR_RETURN(const job::PluginInfo* plugin, job::FindPlugin(plan.plugin));
  plan.knobs = plugin->defaults;
  return Status::Ok();
}

}  // namespace assay::experiment
