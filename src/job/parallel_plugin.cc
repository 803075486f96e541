#include "job/parallel_plugin.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/json.h"

namespace assay::job {
namespace {

using nlohmann::json;

PluginKnobs LowLevelZeroDefaults() {
  PluginKnobs knobs;
  knobs.zero_stage = 1;
  return knobs;
}

PluginKnobs HybridParallelDefaults() {
  PluginKnobs knobs;
  knobs.tp_size = 2;
  knobs.pp_size = 2;
  return knobs;
}

PluginKnobs GeminiDefaults() {
  PluginKnobs knobs;
  knobs.offload_optim_frac = 1;
  return knobs;
}

PluginKnobs ShardDefaults() {
  PluginKnobs knobs;
  knobs.prefetch = 1;
  return knobs;
}

const std::vector<std::string_view> kDdpKnobs = {"bucket_mib", "overlap", "no_sync", "communication_dtype"};
const std::vector<std::string_view> kShardKnobs = {
    "overlap", "no_sync",           "prefetch",           "offload_optim_frac", "offload_param_frac",
    "tp_size", "sequence_parallel", "communication_dtype"};
const std::vector<std::string_view> kHybridShardKnobs = {
    "overlap", "no_sync", "prefetch", "offload_optim_frac", "offload_param_frac", "shard_ranks", "communication_dtype"};

constexpr Strategy kDataParallel = {.name = "torch_ddp", .small_first_bucket = true};
constexpr Strategy kZero1 = {
    .name = "low_level_zero", .split = SplitOver::kAll, .accumulate_whole = true, .colossal_scaler = true};

const std::vector<PluginInfo> kPlugins = {
    {.name = "torch_ddp",
     .title = "Torch DDP",
     .description = "every rank has everything; gradients are averaged in buckets",
     .precision = "fp32",
     .knobs = kDdpKnobs,
     .strategies = {kDataParallel}},
    {.name = "torch_ddp_fp16",
     .title = "Torch DDP FP16",
     .description = "Torch DDP under fp16 autocast with a loss scaler",
     .precision = "amp_fp16",
     .loss_scale = 65536,
     .knobs = kDdpKnobs,
     .strategies = {{.name = "torch_ddp_fp16", .small_first_bucket = true}}},
    {.name = "low_level_zero",
     .title = "Low Level Zero",
     .description = "16-bit weights; fp32 weights and moments sharded (ZeRO 1 or 2)",
     .precision = "fp16",
     .loss_scale = 32,
     .knobs = {"zero_stage", "overlap", "no_sync", "offload_optim_frac", "communication_dtype"},
     .defaults = LowLevelZeroDefaults(),
     .strategies = {kZero1, {.name = "low_level_zero_2", .split = SplitOver::kAll, .colossal_scaler = true}},
     .least_stage = 1},
    {.name = "gemini",
     .title = "Gemini",
     .description = "16-bit weights sharded in chunks; states in host memory, or there when memory is short",
     .precision = "fp16",
     .loss_scale = 32,
     .knobs = {"overlap", "prefetch", "min_chunk_size_m", "search_range_m", "hidden_dim", "shard_param_frac",
               "offload_optim_frac", "offload_param_frac", "placement", "communication_dtype"},
     .defaults = GeminiDefaults(),
     .strategies = {{.name = "gemini",
                     .split = SplitOver::kAll,
                     .keep_weights = false,
                     .reshard_after_forward = true,
                     .chunks = true,
                     .colossal_scaler = true}},
     .auto_strategy = Strategy{.name = "gemini_auto",
                               .split = SplitOver::kAll,
                               .keep_weights = false,
                               .reshard_after_forward = true,
                               .chunks = true,
                               .within_budget = true,
                               .colossal_scaler = true}},
    {.name = "hybrid_parallel",
     .title = "Hybrid Parallel",
     .description = "tensor, pipeline and data ranks",
     .precision = "fp16",
     .knobs = {"zero_stage", "bucket_mib", "overlap", "tp_size", "sequence_parallel", "pp_size", "microbatches",
               "communication_dtype"},
     .defaults = HybridParallelDefaults(),
     .strategies = {kDataParallel, kZero1}},
    {.name = "FULL_SHARD",
     .title = "FSDP FULL_SHARD",
     .description = "parameters, gradients and states sharded; gathered for forward and again for backward",
     .precision = "fp32",
     .loss_scale = 65536,
     .knobs = kShardKnobs,
     .defaults = ShardDefaults(),
     .strategies =
         {{.name = "FULL_SHARD", .split = SplitOver::kAll, .keep_weights = false, .reshard_after_forward = true}}},
    {.name = "SHARD_GRAD_OP",
     .title = "FSDP SHARD_GRAD_OP",
     .description = "as FULL_SHARD, but parameters stay gathered from forward to backward",
     .precision = "fp32",
     .loss_scale = 65536,
     .knobs = kShardKnobs,
     .defaults = ShardDefaults(),
     .strategies = {{.name = "SHARD_GRAD_OP", .split = SplitOver::kAll, .keep_weights = false}}},
    {.name = "NO_SHARD",
     .title = "FSDP NO_SHARD",
     .description = "nothing sharded; gradients averaged unit by unit",
     .precision = "fp32",
     .loss_scale = 65536,
     .knobs = kDdpKnobs,
     .strategies = {{.name = "NO_SHARD", .keep_weights = false}}},
    {.name = "HYBRID_SHARD",
     .title = "FSDP HYBRID_SHARD",
     .description = "FULL_SHARD within a group of ranks, gradients averaged between the groups",
     .precision = "fp32",
     .loss_scale = 65536,
     .knobs = kHybridShardKnobs,
     .defaults = ShardDefaults(),
     .strategies =
         {{.name = "HYBRID_SHARD", .split = SplitOver::kGroup, .keep_weights = false, .reshard_after_forward = true}}},
    {.name = "_HYBRID_SHARD_ZERO2",
     .title = "FSDP _HYBRID_SHARD_ZERO2",
     .description = "SHARD_GRAD_OP within a group of ranks, gradients averaged between the groups",
     .precision = "fp32",
     .loss_scale = 65536,
     .knobs = kHybridShardKnobs,
     .defaults = ShardDefaults(),
     .strategies = {{.name = "_HYBRID_SHARD_ZERO2", .split = SplitOver::kGroup, .keep_weights = false}}},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kKnobDescriptions = {{
    {"zero_stage",
     "low_level_zero: 1 shards the optimiser's states, 2 gradients too; hybrid_parallel: 0 or 1, over data ranks"},
    {"bucket_mib",
     "MiB of gradients that are reduced together where they are not sharded; DDP's first bucket has 1 MiB"},
    {"overlap", "reduce gradients while backward goes on"},
    {"no_sync", "with accumulation: keep full gradients and reduce them once a step"},
    {"prefetch", "units, of gemini chunks, gathered ahead of those in use"},
    {"min_chunk_size_m",
     "gemini: 2^20 elements of the smallest chunk; parameters with fewer in all are one chunk that stays gathered"},
    {"search_range_m",
     "gemini: 2^20 elements by which chunks may be larger, to waste less; 0: the size is not searched"},
    {"hidden_dim", "gemini: elements between two chunk sizes that are tried; 1024 when not given"},
    {"shard_param_frac", "gemini, static: part of the parameters that is sharded"},
    {"offload_optim_frac",
     "part of the master weights and moments kept in host memory; of placement auto the part that may move there"},
    {"offload_param_frac", "part of the parameters kept in host memory between uses"},
    {"placement",
     "gemini: static, or auto: traced in the first step and held within the memory cap by giving up gathered weights "
     "and moving states to host memory, what is needed farthest ahead first"},
    {"tp_size",
     "hybrid_parallel, FULL_SHARD, SHARD_GRAD_OP: tensor ranks; they divide the model's heads, and its MLP's features "
     "or "
     "experts"},
    {"sequence_parallel",
     "with tensor ranks: they divide the tokens too, between the blocks of a layer, which takes less memory"},
    {"pp_size", "hybrid_parallel: pipeline stages, each with a layer or more"},
    {"microbatches",
     "hybrid_parallel: pieces that a pipeline cuts batch_size into; one image or row each when not given"},
    {"shard_ranks", "HYBRID_SHARD, _HYBRID_SHARD_ZERO2: ranks that share one copy of the state; all when not given"},
    {"communication_dtype",
     "what gradients travel as: float32, bfloat16 or float16; as they are made when not given; float8: what gathered "
     "parameters travel as"},
}};

std::string Quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

constexpr int kMostChunkSizeM = 1 << 20;

bool IsFraction(double value) {
  return value >= 0 && value <= 1;
}

Status CheckRanges(const PluginKnobs& knobs) {
  constexpr std::array<std::string_view, 5> kDtypes = {"", "float32", "bfloat16", "float16", "float8"};
  for (const auto& [name, value] : {std::pair{"shard_param_frac", knobs.shard_param_frac},
                                    {"offload_optim_frac", knobs.offload_optim_frac},
                                    {"offload_param_frac", knobs.offload_param_frac}}) {
    if (!IsFraction(value)) {
      return Status::InvalidArgument(std::string(name) + " is " + json(value).dump() + ": it must be from 0 to 1");
    }
  }
  for (const auto& [name, value] :
       {std::pair{"min_chunk_size_m", knobs.min_chunk_size_m}, {"search_range_m", knobs.search_range_m}}) {
    if (!(value >= 0 && value <= kMostChunkSizeM)) {
      return Status::InvalidArgument(std::string(name) + " is " + json(value).dump() + ": it must be from 0 to " +
                                     std::to_string(kMostChunkSizeM));
    }
  }
  for (const auto& [name, value, least] : {std::tuple{"tp_size", knobs.tp_size, 1},
                                           {"pp_size", knobs.pp_size, 1},
                                           {"microbatches", knobs.microbatches, 0},
                                           {"prefetch", knobs.prefetch, 0},
                                           {"hidden_dim", knobs.hidden_dim, 0},
                                           {"shard_ranks", knobs.shard_ranks, 0}}) {
    if (value < least) {
      return Status::InvalidArgument(std::string(name) + " is " + std::to_string(value) + ": it must be at least " +
                                     std::to_string(least));
    }
  }
  if (!(knobs.bucket_mib > 0)) {
    return Status::InvalidArgument("bucket_mib is " + json(knobs.bucket_mib).dump() + ": it must be above 0");
  }
  if (knobs.placement != "static" && knobs.placement != "auto") {
    return Status::InvalidArgument("placement is " + Quoted(knobs.placement) + ": it must be static or auto");
  }
  if (std::ranges::find(kDtypes, knobs.communication_dtype) == kDtypes.end()) {
    return Status::InvalidArgument("communication_dtype is " + Quoted(knobs.communication_dtype) +
                                   ": it must be float32, bfloat16, float16, float8 or empty");
  }
  return Status::Ok();
}

/// A knob that the plugin does not read would be ignored without a word.
Status CheckUnread(const PluginInfo& plugin, const PluginKnobs& knobs) {
  json defaults;
  VisitKnobs(plugin.defaults, [&](const char* name, const auto& value) { defaults[name] = value; });
  Status status;
  VisitKnobs(knobs, [&](const char* name, const auto& value) {
    if (status.ok() && defaults[name] != json(value) && !Reads(plugin, name)) {
      status = Status::InvalidArgument(std::string(plugin.name) + " does not read " + name + ", which is set to " +
                                       json(value).dump() + "; leave it out, or choose another plugin");
    }
  });
  return status;
}

Status CheckStage(const PluginInfo& plugin, int64_t stage) {
  const int64_t least = plugin.least_stage;
  const int64_t most = least + static_cast<int64_t>(plugin.strategies.size()) - 1;
  if (!Reads(plugin, "zero_stage") || (stage >= least && stage <= most)) {
    return Status::Ok();
  }
  return Status::InvalidArgument("zero_stage is " + std::to_string(stage) + ": " + std::string(plugin.name) + " has " +
                                 std::to_string(least) + " and " + std::to_string(most));
}

/// Gradients that are sharded are reduced unit by unit.
Status CheckBuckets(const PluginInfo& plugin, const PluginKnobs& knobs) {
  if (!Reads(plugin, "zero_stage") || knobs.zero_stage == 0 || knobs.bucket_mib == plugin.defaults.bucket_mib) {
    return Status::Ok();
  }
  return Status::InvalidArgument(std::string(plugin.name) + " with zero_stage " + std::to_string(knobs.zero_stage) +
                                 " does not read bucket_mib, which is set to " + json(knobs.bucket_mib).dump() +
                                 "; leave it out, or choose zero_stage 0");
}

Status CheckGathers(const PluginInfo& plugin, const PluginKnobs& knobs) {
  if (GathersWeights(plugin, knobs) || knobs.communication_dtype != "float8") {
    return Status::Ok();
  }
  return Status::InvalidArgument(std::string(plugin.name) +
                                 " gathers no weights that could travel in 8 bits: choose another communication_dtype "
                                 "than float8, or another plugin");
}

/// One rank has all tokens.
Status CheckSequence(const PluginKnobs& knobs) {
  if (!knobs.sequence_parallel || knobs.tp_size > 1) {
    return Status::Ok();
  }
  return Status::InvalidArgument("sequence_parallel divides tokens between tensor ranks, and tp_size is " +
                                 std::to_string(knobs.tp_size) + "; take tp_size 2 or more, or leave it out");
}

/// Fractions that the published plugin ignores with a warning, or without one.
Status CheckFractions(const PluginInfo& plugin, const PluginKnobs& knobs) {
  if (!Reads(plugin, "placement")) {
    return Status::Ok();
  }
  const bool automatic = knobs.placement == "auto";
  if (automatic && knobs.shard_param_frac != plugin.defaults.shard_param_frac) {
    return Status::InvalidArgument("shard_param_frac is " + json(knobs.shard_param_frac).dump() +
                                   ": placement auto keeps gathered what fits; leave it out, or choose static");
  }
  const bool all_else_is_there = !automatic && knobs.shard_param_frac == 1 && knobs.offload_optim_frac == 1;
  if (knobs.offload_param_frac > 0 && !all_else_is_there) {
    return Status::InvalidArgument("offload_param_frac is " + json(knobs.offload_param_frac).dump() +
                                   ": it acts with placement static, shard_param_frac 1 and offload_optim_frac 1; "
                                   "choose these, or leave it out");
  }
  return Status::Ok();
}

/// The ranks must be a whole number of meshes.
Status CheckMesh(const PluginKnobs& knobs, int64_t ranks) {
  if (ranks < 1) {
    return Status::InvalidArgument("number_ranks is " + std::to_string(ranks) + ": it must be at least 1");
  }
  if (ranks % (knobs.tp_size * knobs.pp_size) != 0) {
    return Status::InvalidArgument(std::to_string(ranks) + " ranks do not divide into tp_size " +
                                   std::to_string(knobs.tp_size) + " x pp_size " + std::to_string(knobs.pp_size) +
                                   "; take a multiple of " + std::to_string(knobs.tp_size * knobs.pp_size));
  }
  if (knobs.shard_ranks > 0 && ranks % knobs.shard_ranks != 0) {
    return Status::InvalidArgument(std::to_string(ranks) + " ranks do not divide into groups of shard_ranks " +
                                   std::to_string(knobs.shard_ranks));
  }
  return Status::Ok();
}

}  // namespace

std::span<const PluginInfo> Plugins() {
  return kPlugins;
}

Result<const PluginInfo*> FindPlugin(std::string_view name) {
  std::vector<std::string> known;
  for (const PluginInfo& plugin : kPlugins) {
    if (plugin.name == name) {
      return &plugin;
    }
    known.emplace_back(plugin.name);
  }
  const std::string nearest = NearestName(name, known);
  return Status::InvalidArgument("there is no plugin " + Quoted(name) +
                                 (nearest.empty() ? "" : " (did you mean " + Quoted(nearest) + "?)"));
}

std::string_view DescribeKnob(std::string_view name) {
  const auto* found = std::ranges::find_if(kKnobDescriptions, [&](const auto& row) { return row.first == name; });
  return found == kKnobDescriptions.end() ? "" : found->second;
}

std::string DescribePlugin(const PluginInfo& plugin) {
  std::string text(plugin.name);
  text.append(": ").append(plugin.description).append(" (").append(plugin.precision).append("; knobs: ");
  for (const std::string_view& knob : plugin.knobs) {
    text.append(&knob == &plugin.knobs.front() ? "" : ", ").append(knob);
  }
  return text + ")";
}

bool Reads(const PluginInfo& plugin, std::string_view knob) {
  return std::ranges::find(plugin.knobs, knob) != plugin.knobs.end();
}

const Strategy& StrategyOf(const PluginInfo& plugin, const PluginKnobs& knobs) {
  if (knobs.placement == "auto" && plugin.auto_strategy) {
    return *plugin.auto_strategy;
  }
  return plugin.strategies.at(static_cast<size_t>(knobs.zero_stage - plugin.least_stage));
}

bool GathersWeights(const PluginInfo& plugin, const PluginKnobs& knobs) {
  return StrategyOf(plugin, knobs).split != SplitOver::kNobody;
}

Status CheckKnobs(const PluginInfo& plugin, const PluginKnobs& knobs, int64_t ranks) {
  ASSAY_RETURN_IF_ERROR(CheckRanges(knobs));
  ASSAY_RETURN_IF_ERROR(CheckUnread(plugin, knobs));
  ASSAY_RETURN_IF_ERROR(CheckStage(plugin, knobs.zero_stage));
  ASSAY_RETURN_IF_ERROR(CheckFractions(plugin, knobs));
  ASSAY_RETURN_IF_ERROR(CheckBuckets(plugin, knobs));
  ASSAY_RETURN_IF_ERROR(CheckGathers(plugin, knobs));
  ASSAY_RETURN_IF_ERROR(CheckSequence(knobs));
  return CheckMesh(knobs, ranks);
}

}  // namespace assay::job
