#include "engine/model/rope.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "engine/kernels/vector_math.h"

namespace assay::engine {
namespace {

using architecture::RopeConfig;
using architecture::RopeType;

// theta^(2i / D) in float32, with the operations (and so the roundings) of transformers.
at::Tensor wavelengths_over_two_pi(double theta, int64_t head_dim) {
  const at::Tensor even = at::arange(0, head_dim, 2, at::kFloat);
  return at::pow(at::Scalar(theta), even / static_cast<double>(head_dim));
}

at::Tensor frequencies_of(const at::Tensor& wavelengths) {
  return 1.0 / wavelengths;
}

at::Tensor dynamic_frequencies(const ModelConfig& config, int64_t length) {
  const double dim = static_cast<double>(config.head_dim);
  const double original = static_cast<double>(config.max_positions);
  const double stretch = config.rope.factor * std::max<double>(static_cast<double>(length), original) / original -
                         (config.rope.factor - 1);
  return frequencies_of(
      wavelengths_over_two_pi(config.rope.theta * std::pow(stretch, dim / (dim - 2)), config.head_dim));
}

at::Tensor llama3_frequencies(const RopeConfig& rope, const at::Tensor& frequencies) {
  const double original = static_cast<double>(rope.original_max_positions);
  const double longest_unscaled = original / rope.high_freq_factor;
  const double shortest_scaled = original / rope.low_freq_factor;
  const at::Tensor wavelength = 2 * std::numbers::pi / frequencies;
  const at::Tensor scaled = at::where(wavelength.gt(shortest_scaled), frequencies / rope.factor, frequencies);
  const at::Tensor smooth =
      (original / wavelength - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  const at::Tensor smoothed = (1 - smooth) * scaled / rope.factor + smooth * scaled;
  const at::Tensor between = wavelength.ge(longest_unscaled).logical_and(wavelength.le(shortest_scaled));
  return at::where(between, smoothed, scaled);
}

// The dimension that turns `rotations` times within the original length (Peng et al. 2023, "YaRN", eq. 17-23).
double correction_dimension(const ModelConfig& config, double rotations) {
  const double original = static_cast<double>(config.rope.original_max_positions);
  return static_cast<double>(config.head_dim) * std::log(original / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(config.rope.theta));
}

at::Tensor yarn_frequencies(const ModelConfig& config) {
  const RopeConfig& rope = config.rope;
  double low = correction_dimension(config, rope.beta_fast);
  double high = correction_dimension(config, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(config.head_dim - 1));
  if (low == high) {
    high += 0.001;
  }
  const at::Tensor ramp = ((at::arange(config.head_dim / 2, at::kFloat) - low) / (high - low)).clamp(0, 1);
  const at::Tensor extrapolated_part = 1 - ramp;
  const at::Tensor wavelengths = wavelengths_over_two_pi(rope.theta, config.head_dim);
  return frequencies_of(rope.factor * wavelengths) * (1 - extrapolated_part) +
         frequencies_of(wavelengths) * extrapolated_part;
}

double yarn_attention_factor(const RopeConfig& rope) {
  const auto magnitude = [&rope](double scale) {
    return rope.factor <= 1 ? 1.0 : 0.1 * scale * std::log(rope.factor) + 1.0;
  };
  if (rope.attention_factor > 0) {
    return rope.attention_factor;
  }
  if (rope.mscale > 0 && rope.mscale_all_dim > 0) {
    return magnitude(rope.mscale) / magnitude(rope.mscale_all_dim);
  }
  return magnitude(1.0);
}

}  // namespace

RotaryFrequencies rotary_frequencies(const ModelConfig& config, int64_t length) {
  const RopeConfig& rope = config.rope;
  const at::Tensor unscaled = frequencies_of(wavelengths_over_two_pi(rope.theta, config.head_dim));
  switch (rope.type) {
    case RopeType::kDefault:
      return {unscaled, 1.0};
    case RopeType::kLinear:
      return {unscaled / rope.factor, 1.0};
    case RopeType::kDynamic:
      return {dynamic_frequencies(config, length), 1.0};
    case RopeType::kYarn:
      return {yarn_frequencies(config), yarn_attention_factor(rope)};
    case RopeType::kLlama3:
      return {llama3_frequencies(rope, unscaled), 1.0};
  }
  return {unscaled, 1.0};
}

RotaryCache::RotaryCache(const ModelConfig& config, at::Device device)
    : config_(config), device_(device), scaled_length_(config.max_positions) {}

const RotaryTable& RotaryCache::table(int64_t length) {
  const bool changed = frequencies_change(length);
  if (changed || !table_.cos_PD2.defined() || table_.cos_PD2.size(0) < length) {
    fill(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(length, 512)))));
  }
  return table_;
}

bool RotaryCache::frequencies_change(int64_t length) {
  if (config_.rope.type != RopeType::kDynamic) {
    return false;
  }
  const int64_t before = scaled_length_;
  if (length > scaled_length_) {
    scaled_length_ = length;
  } else if (length < config_.max_positions) {
    scaled_length_ = config_.max_positions;
  }
  return scaled_length_ != before;
}

void RotaryCache::fill(int64_t positions) {
  const at::NoGradGuard no_grad;
  settle_vector_math();
  const RotaryFrequencies frequencies = rotary_frequencies(config_, scaled_length_);
  const at::Tensor angles_PD2 = at::outer(at::arange(positions, at::kFloat), frequencies.inverse_D2);
  table_.cos_PD2 = (angles_PD2.cos() * frequencies.attention_factor).to(device_);
  table_.sin_PD2 = (angles_PD2.sin() * frequencies.attention_factor).to(device_);
}

}  // namespace assay::engine
