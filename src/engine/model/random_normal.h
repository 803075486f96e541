// Normally distributed numbers for random weights, made in parallel.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace assay::engine {

/// A stream key for a named tensor, so that a tensor's numbers depend neither on other tensors nor on their order.
uint64_t stream_key(uint64_t seed, std::string_view name);

/// Keys that follow from `key` one after the other: SplitMix64 (Steele, Lea & Flood 2014).
void fill_keys(std::span<int64_t> keys, uint64_t key);

/// Fills the contiguous CPU tensor `target` (float32, bfloat16 or float16) from N(0, stddev). The same key gives the
/// same numbers, rounded to the tensor's dtype, whatever the number of threads. Ziggurat method (Marsaglia & Tsang
/// 2000) over xoshiro256++ (Blackman & Vigna 2019).
void fill_normal(at::Tensor& target, double stddev, uint64_t key);

/// Likewise, from the uniform distribution over [-bound, bound).
void fill_uniform(at::Tensor& target, double bound, uint64_t key);

}  // namespace assay::engine
