// Pixels to the numbers that a network takes, as transformers' ViTImageProcessor makes them.
#pragma once

#include <array>
#include <cstdint>

#include "image/image.h"

namespace assay::image {

/// (value / 255 - mean) / std by channel, for all 256 values of a pixel: rescaled in double precision, then in single,
/// as transformers' rescale and normalize do, so that results are bit-equal. Immutable; safe from several threads.
class Normalizer {
 public:
  using PerChannel = std::array<double, kChannels>;

  /// Each of `std` must be above 0.
  Normalizer(const PerChannel& mean, const PerChannel& std);

  /// Three planes of `pixels` bytes each (Image's ToPlanes) to as many floats.
  void ToFloat(const uint8_t* planes, int64_t pixels, float* out) const;
  /// The same, rounded to the nearest bfloat16 (ties to even), as its bits.
  void ToBfloat16(const uint8_t* planes, int64_t pixels, uint16_t* out) const;

 private:
  std::array<std::array<float, 256>, kChannels> floats_;
  std::array<std::array<uint16_t, 256>, kChannels> bfloats_;
};

}  // namespace assay::image
