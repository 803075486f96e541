#include "image/normalize.h"

#include <bit>
#include <cstddef>

namespace assay::image {
namespace {

/// Rounds to nearest, ties to even. Values of a table are finite.
uint16_t Bfloat16Bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

template <typename T>
void LookUp(const std::array<std::array<T, 256>, kChannels>& tables, const uint8_t* planes, int64_t pixels, T* out) {
  for (size_t channel = 0; channel < kChannels; ++channel) {
    const auto& table = tables[channel];
    const int64_t begin = static_cast<int64_t>(channel) * pixels;
    for (int64_t i = begin; i < begin + pixels; ++i) {
      out[i] = table[planes[i]];
    }
  }
}

}  // namespace

Normalizer::Normalizer(const PerChannel& mean, const PerChannel& std) {
  for (size_t channel = 0; channel < kChannels; ++channel) {
    const auto center = static_cast<float>(mean[channel]);
    const auto width = static_cast<float>(std[channel]);
    for (size_t value = 0; value < 256; ++value) {
      const auto rescaled = static_cast<float>(static_cast<double>(value) * (1.0 / 255.0));
      floats_[channel][value] = (rescaled - center) / width;
      bfloats_[channel][value] = Bfloat16Bits(floats_[channel][value]);
    }
  }
}

void Normalizer::ToFloat(const uint8_t* planes, int64_t pixels, float* out) const {
  LookUp(floats_, planes, pixels, out);
}

void Normalizer::ToBfloat16(const uint8_t* planes, int64_t pixels, uint16_t* out) const {
  LookUp(bfloats_, planes, pixels, out);
}

}  // namespace assay::image
