// Shapes and counters that the kernel benchmarks share: SmolLM2-135M on a batch of four rows of 180 to 512 tokens.
#pragma once

#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "engine/kernels/ops.h"
#include "engine/kernels/packed_batch.h"

namespace assay::engine::bench {

inline constexpr int64_t kHidden = 576;
inline constexpr int64_t kIntermediate = 1536;
inline constexpr int64_t kVocabulary = 49152;
inline constexpr int64_t kLayers = 30;
inline constexpr int64_t kHeads = 9;
inline constexpr int64_t kGroups = 3;
inline constexpr int64_t kHeadDim = 64;
inline constexpr double kEps = 1e-5;

inline const std::vector<int64_t> kRows = {180, 512, 260, 350};

/// Rows of the given lengths; in each, the last two thirds are supervised.
inline PackedBatch make_batch(const std::vector<int64_t>& lengths) {
  PackedBatch batch;
  batch.row_offsets = {0};
  std::vector<int64_t> positions;
  std::vector<int64_t> supervised;
  for (const int64_t length : lengths) {
    for (int64_t i = 0; i < length; ++i) {
      if (i + 1 < length && i + 1 >= length / 3) {
        supervised.push_back(batch.row_offsets.back() + i);
      }
      positions.push_back(i);
    }
    batch.row_offsets.push_back(batch.row_offsets.back() + length);
    batch.longest_row = std::max(batch.longest_row, length);
  }
  at::manual_seed(11);
  batch.ids_T = at::randint(kVocabulary, {batch.tokens()}, at::kLong);
  batch.positions_T = at::tensor(positions, at::kLong);
  batch.row_offsets_R1 = at::tensor(batch.row_offsets, at::kLong).to(at::kInt);
  batch.supervised_positions_S = at::tensor(supervised, at::kLong);
  batch.supervised_targets_S = batch.ids_T.index_select(0, batch.supervised_positions_S + 1);
  return batch;
}

inline RotaryTable make_rotary(int64_t positions) {
  const at::Tensor frequency = at::pow(10000.0, -at::arange(kHeadDim / 2, at::kDouble) * 2 / kHeadDim);
  const at::Tensor angle = at::outer(at::arange(positions, at::kDouble), frequency);
  return {angle.cos().to(at::kFloat), angle.sin().to(at::kFloat)};
}

inline AttentionOptions attention_options() {
  return {.query_heads = kHeads,
          .key_value_heads = kGroups,
          .head_dim = kHeadDim,
          .scale = 1.0 / std::sqrt(static_cast<double>(kHeadDim))};
}

inline at::Tensor random(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::randn(sizes).mul_(0.05).to(dtype);
}

/// The dtype that a benchmark's first argument stands for; it becomes the label, by which results find their ceiling.
inline at::ScalarType dtype_of(benchmark::State& state) {
  constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kBFloat16, at::kHalf};
  constexpr const char* kNames[] = {"float32", "bfloat16", "float16"};
  state.SetLabel(kNames[state.range(0)]);
  return kDtypes[state.range(0)];
}

inline void count_flops(benchmark::State& state, double per_iteration) {
  state.counters["GFLOP/s"] = benchmark::Counter(per_iteration / 1e9, benchmark::Counter::kIsIterationInvariantRate);
}

/// MiB tell whether what is passed over stays in a cache.
inline void count_bytes(benchmark::State& state, double per_iteration) {
  state.counters["MiB"] = per_iteration / (1 << 20);
  state.counters["GB/s"] = benchmark::Counter(per_iteration / 1e9, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace assay::engine::bench
