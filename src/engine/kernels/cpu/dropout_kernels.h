// Dropout masks. Part of a per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/simd.h"
#include "engine/kernels/dropout_mask.h"

namespace assay::engine::ASSAY_ISA {

using U64 = uint64_t __attribute__((vector_size(kVectorBytes)));

/// The products of the lower halves of all lanes.
inline U64 multiply_low_halves(U64 a, uint32_t factor) {
#if defined(__AVX512F__)
  return reinterpret_cast<U64>(
      _mm512_mul_epu32(reinterpret_cast<__m512i>(a), _mm512_set1_epi64(static_cast<int64_t>(factor))));
#elif defined(__AVX2__)
  return reinterpret_cast<U64>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(static_cast<int64_t>(factor))));
#else
  return (a & 0xffffffffU) * factor;
#endif
}

/// Of philox(): a lane to a counter.
struct PhiloxLanes {
  using Word = U32;

  static void multiply(U32 a, uint32_t factor, U32& high, U32& low) {
    const U64 even = multiply_low_halves(reinterpret_cast<U64>(a), factor);
    const U64 odd = multiply_low_halves(reinterpret_cast<U64>(a) >> 32, factor);
    high = reinterpret_cast<U32>((even >> 32) | (odd & ~uint64_t{0xffffffffU}));
    low = reinterpret_cast<U32>((even & 0xffffffffU) | (odd << 32));
  }
};

/// The bytes of the features of kLanes counters, a lane to each counter.
inline U32 keep_bytes(uint64_t first_counter, uint64_t key, const DropoutMaskTask& task) {
  const U32 counters = reinterpret_cast<U32>(lane_numbers()) + static_cast<uint32_t>(first_counter);
  U32 words[4] = {counters, U32{}, U32{} + static_cast<uint32_t>(task.stream),
                  U32{} + static_cast<uint32_t>(task.stream >> 32)};
  philox<PhiloxLanes>(words, key);
  U32 bytes{};
  for (int word = 0; word < 4; ++word) {
    const U32 kept = reinterpret_cast<U32>(words[word] >= task.dropped_below);
    bytes |= kept & (uint32_t{1} << (8 * word));
  }
  return bytes;
}

inline void dropout_mask(const DropoutMaskTask& task, int64_t begin, int64_t end) {
  constexpr int64_t kFeatures = kFeaturesOfCounter * kLanes;
  const int64_t last = task.first_feature + task.features;
  for (int64_t token = begin; token < end; ++token) {
    const auto key = static_cast<uint64_t>(task.keys[token]);
    uint8_t* out = task.mask + token * task.features;
    int64_t feature = task.first_feature;
    while (feature < last) {
      const int64_t counter = feature / kFeaturesOfCounter;
      const U32 bytes = keep_bytes(static_cast<uint64_t>(counter), key, task);
      const int64_t skipped = feature - counter * kFeaturesOfCounter;
      const int64_t count = kFeatures - skipped < last - feature ? kFeatures - skipped : last - feature;
      if (count == kFeatures) {
        __builtin_memcpy(out, &bytes, kFeatures);
      } else {
        __builtin_memcpy(out, reinterpret_cast<const uint8_t*>(&bytes) + skipped, static_cast<size_t>(count));
      }
      out += count;
      feature += count;
    }
  }
}

}  // namespace assay::engine::ASSAY_ISA
