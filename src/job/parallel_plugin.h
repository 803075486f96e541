// The parallel plugins by name, and the knobs that each of them reads.
//
// Names and defaults are those of the reference's ViT benchmark (ColossalAI, examples/images/vit/vit_benchmark.py) and
// of torch's FSDP (ShardingStrategy).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::job {

/// Settings of a plugin. Plain data; each plugin reads those that its PluginInfo names, the others keep their defaults.
struct PluginKnobs {
  /// low_level_zero: 1 (optimiser states sharded) or 2 (gradients too); hybrid_parallel: 0 or 1, over the data ranks.
  int64_t zero_stage = 0;
  double bucket_mib = 25;            ///< gradient bucket of a reduction; DDP's first one is of 1 MiB, as torch's
  bool overlap = true;               ///< reduce gradients while backward goes on
  bool no_sync = false;              ///< with accumulation: full gradients kept, reduced once a step
  int64_t prefetch = 0;              ///< units, of gemini chunks, gathered ahead of those in use
  double min_chunk_size_m = 32;      ///< gemini: 2^20 elements of the smallest chunk
  double search_range_m = 32;        ///< gemini: 2^20 elements by which chunks may be larger than need be
  int64_t hidden_dim = 0;            ///< gemini: elements between two chunk sizes that are tried; 0: 1024
  double shard_param_frac = 1;       ///< gemini, static: part of the parameters that is sharded
  double offload_optim_frac = 0;     ///< part of masters and moments in host memory; auto: that may move there
  double offload_param_frac = 0;     ///< part of the parameters kept in host memory between uses
  std::string placement = "static";  ///< gemini: static | auto (traced in the first step, within memory_budget_bytes)
  int64_t tp_size = 1;               ///< hybrid_parallel, FULL_SHARD, SHARD_GRAD_OP: tensor ranks
  bool sequence_parallel = false;    ///< with tensor ranks: these divide the tokens between the blocks
  int64_t pp_size = 1;               ///< hybrid_parallel: pipeline stages
  int64_t microbatches = 0;          ///< hybrid_parallel: of batch_size; 0: one image or row each (one stage: one)
  int64_t shard_ranks = 0;           ///< HYBRID_*: ranks that share one copy; 0: all ranks of the machine
  /// float32, bfloat16, float16: what gradients travel as; float8: what gathered parameters do; "": as they are.
  std::string communication_dtype;
};

/// Calls `visit(name, field)` for each knob.
template <typename Knobs, typename Visitor>
void VisitKnobs(Knobs& knobs, const Visitor& visit) {
  visit("zero_stage", knobs.zero_stage);
  visit("bucket_mib", knobs.bucket_mib);
  visit("overlap", knobs.overlap);
  visit("no_sync", knobs.no_sync);
  visit("prefetch", knobs.prefetch);
  visit("min_chunk_size_m", knobs.min_chunk_size_m);
  visit("search_range_m", knobs.search_range_m);
  visit("hidden_dim", knobs.hidden_dim);
  visit("shard_param_frac", knobs.shard_param_frac);
  visit("offload_optim_frac", knobs.offload_optim_frac);
  visit("offload_param_frac", knobs.offload_param_frac);
  visit("placement", knobs.placement);
  visit("tp_size", knobs.tp_size);
  visit("sequence_parallel", knobs.sequence_parallel);
  visit("pp_size", knobs.pp_size);
  visit("microbatches", knobs.microbatches);
  visit("shard_ranks", knobs.shard_ranks);
  visit("communication_dtype", knobs.communication_dtype);
}

/// What the knob of that name does, for people, on one line; empty when there is no such knob.
std::string_view DescribeKnob(std::string_view name);

/// Over which data ranks gradients, optimiser states and (unless kept whole) weights are split; the others hold copies.
enum class SplitOver {
  kNobody,  ///< every rank has everything (data parallel)
  kAll,     ///< all ranks
  kGroup,   ///< a group of ranks that lie close together; between the groups gradients are averaged
};

/// How data ranks share a model: what the engine does otherwise than data parallel training (engine/shard/policy.h says
/// what each setting is).
struct Strategy {
  std::string_view name;
  SplitOver split = SplitOver::kNobody;
  bool keep_weights = true;
  bool reshard_after_forward = false;
  bool accumulate_whole = false;
  bool chunks = false;
  bool within_budget = false;       ///< weights and states come and go as the memory cap allows
  bool small_first_bucket = false;  ///< of gradients, as torch's DDP has it
  bool colossal_scaler = false;     ///< of losses; else torch.amp's
};

/// One row of the table of plugins.
struct PluginInfo {
  std::string_view name;
  std::string_view title;               ///< for people: "Low Level Zero"
  std::string_view description;         ///< one line
  std::string_view precision;           ///< what it runs in when nothing is asked for: a value of VitPlan::precision
  double loss_scale = 1;                ///< the first one, in precisions that scale; it is then adapted
  std::vector<std::string_view> knobs;  ///< names of the knobs that it reads
  PluginKnobs defaults = {};            ///< of these knobs
  /// One, or one for each value of zero_stage from `least_stage` on. Plugins may share them.
  std::vector<Strategy> strategies;
  int64_t least_stage = 0;
  std::optional<Strategy> auto_strategy = {};  ///< with placement auto
};

/// All plugins, in the order of the benchmark's table.
std::span<const PluginInfo> Plugins();

/// The plugin of that name (case counts); an error names the nearest.
Result<const PluginInfo*> FindPlugin(std::string_view name);

/// "torch_ddp_fp16: Torch DDP under fp16 autocast ... (amp_fp16; knobs: bucket_mib, overlap)": name, description, its
/// own precision and what it reads, on one line.
std::string DescribePlugin(const PluginInfo& plugin);

/// Whether it reads the knob of that name.
bool Reads(const PluginInfo& plugin, std::string_view knob);

/// Its strategy with knobs that CheckKnobs() has passed.
const Strategy& StrategyOf(const PluginInfo& plugin, const PluginKnobs& knobs);

/// Whether ranks send each other weights, which may then travel in 8 bits.
bool GathersWeights(const PluginInfo& plugin, const PluginKnobs& knobs);

/// Refuses, in one line, a knob out of its range, a knob that `plugin` does not read and that is not as its defaults
/// have it, and `ranks` that do not divide into tp_size x pp_size or shard_ranks.
Status CheckKnobs(const PluginInfo& plugin, const PluginKnobs& knobs, int64_t ranks);

}  // namespace assay::job
