// What a parallel strategy is: settings of the sharding engine, made of a row of job/parallel_plugin.h.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/optim/loss_scaler.h"
#include "engine/shard/chunk_search.h"
#include "job/parallel_plugin.h"

namespace assay::engine {

using job::SplitOver;

/// How gathered weights come and go.
enum class WeightPlacement {
  kFixed,   ///< by keep_weights, reshard_after_forward and the fractions
  kBudget,  ///< what is needed farthest ahead goes first when memory_cap_bytes has no room (Belady): see WeightBudget
};

/// Plain data. Zhao et al. 2023 ("PyTorch FSDP"), Rajbhandari et al. 2020 ("ZeRO"), Fang et al. 2022 ("PatrickStar", of
/// which Gemini is the successor).
struct ShardPolicy {
  SplitOver split = SplitOver::kNobody;
  bool keep_weights = true;  ///< whole weights stay in memory between steps; else units gather them
  /// Units' parameters lie in chunks of one size, which are gathered, given up and moved whole; nullopt: each unit's in
  /// buffers of its own.
  std::optional<ChunkSearch> chunks;
  bool reshard_after_forward = false;  ///< units give their gathered weights up between forward and backward
  bool accumulate_whole = false;       ///< gradients of micro-batches are added up whole and reduced once a step
  /// A step has several backward passes, whose gradients are then added up in float32, whatever they travel as: in 16
  /// bits what is added to a sum 256 times as large is lost.
  bool several_backwards = false;

  /// What forward and backward compute in; nullopt: each parameter's own dtype.
  std::optional<at::ScalarType> param_dtype;
  /// What gradients travel as when they are reduced; nullopt: as param_dtype.
  std::optional<at::ScalarType> reduce_dtype;
  bool float32_master = true;  ///< the optimiser updates float32 weights beside 16-bit ones
  bool gather_float8 = false;  ///< weights travel as e4m3 with one scale a shard
  bool scale_loss = false;
  LossScaleOptions loss_scale;

  double bucket_mib = 25;                  ///< of gradients that nobody splits; they are averaged a bucket at a time
  std::optional<double> first_bucket_mib;  ///< the first one to be ready, where it is smaller
  int64_t prefetch = 0;                    ///< units, or chunks, gathered ahead of those in use
  bool overlap = true;                     ///< reduce while backward goes on; else after it
  /// Ranks may leave different parameters without a gradient; which ones nobody used is then agreed on in each step,
  /// and waited for. Else each rank takes the others to be like itself. Units must be used by all ranks alike.
  bool ranks_differ_in_use = false;

  WeightPlacement placement = WeightPlacement::kFixed;
  double keep_gathered_frac = 0;  ///< of the weights, from the first unit on, that are kept whole all the same
  double offload_optim_frac = 0;  ///< of master weights and moments, from the first unit on, kept in host memory
  double offload_param_frac = 0;  ///< of the weights' shards, from the first unit on, kept in host memory
  int64_t memory_cap_bytes = 0;   ///< of kBudget: model data and everything else together; 0: no cap
  /// Of kBudget with a cap: part of master weights and moments, from the first unit on, that begin in host memory and
  /// are on the device when there is room. Where host memory is the device's own that would free nothing.
  double yielding_optim_frac = 0;
};

/// The plugin's settings in `precision`, with knobs that job::CheckKnobs() has passed.
ShardPolicy policy_of(const job::PluginInfo& plugin, const job::PluginKnobs& knobs, std::string_view precision);

/// A strategy by name.
struct ShardStrategy {
  std::string_view name;
  ShardPolicy policy;
};

/// Those of all plugins, each once, with the precision and knobs that the first plugin that has it has by default.
std::span<const ShardStrategy> shard_strategies();

/// The row of that name; throws std::invalid_argument with one line that lists the names.
const ShardPolicy& shard_policy(std::string_view name);

/// `policy` in another precision. fp32: as the model's parameters are; bf16 and fp16: weights, gradients and their
/// reduction in 16 bits beside float32 masters, fp16 with a scaled loss; fp8: bf16 whose weights travel in 8 bits.
/// amp_bf16, amp_fp16: parameters as they are, the model rounds them itself, fp16 with a scaled loss. Throws
/// std::invalid_argument for another name.
ShardPolicy with_precision(ShardPolicy policy, std::string_view precision);

}  // namespace assay::engine
