// The vector type that the CPU kernels are written in. Included only by the per-instruction-set units (isa_*.cc), each
// of which defines ASSAY_ISA, the namespace that its copy of the kernels lives in. Nothing here or in the kernels may
// call an inline function of the standard library: the linker could keep the copy built for a newer processor.
#pragma once

#include <cstdint>

#include "engine/kernels/cpu/scalar_types.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace assay::engine::ASSAY_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
/// Lanes of a vector of float32.
inline constexpr int kLanes = kVectorBytes / 4;

using F32 = float __attribute__((vector_size(kVectorBytes)));
using I32 = int32_t __attribute__((vector_size(kVectorBytes)));
using U32 = uint32_t __attribute__((vector_size(kVectorBytes)));
using U16 = uint16_t __attribute__((vector_size(kVectorBytes / 2)));

inline F32 broadcast(float x) {
  return F32{} + x;
}

/// 0, 1, 2, ...
inline I32 lane_numbers() {
  I32 numbers;
  for (int lane = 0; lane < kLanes; ++lane) {
    numbers[lane] = lane;
  }
  return numbers;
}

inline F32 load(const float* p) {
  F32 v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}

inline void store(float* p, F32 v) {
  __builtin_memcpy(p, &v, sizeof(v));
}

inline F32 load(const Bf16* p) {
  U16 half;
  __builtin_memcpy(&half, p, sizeof(half));
  return reinterpret_cast<F32>(__builtin_convertvector(half, U32) << 16);
}

/// The bfloat16 nearest to each lane, ties to even, NaN kept.
inline U16 to_bf16_bits(F32 v) {
#if defined(__AVX512BF16__)
  return reinterpret_cast<U16>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)));
#else
  const U32 bits = reinterpret_cast<U32>(v);
  const U32 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const U32 quiet_nan = U32{} + 0x7fc0;
  return __builtin_convertvector(v == v ? rounded : quiet_nan, U16);
#endif
}

inline void store(Bf16* p, F32 v) {
  const U16 half = to_bf16_bits(v);
  __builtin_memcpy(p, &half, sizeof(half));
}

inline F32 load(const Half* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<F32>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#elif defined(__F16C__)
  return reinterpret_cast<F32>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
  F32 v;
  for (int i = 0; i < kLanes; ++i) {
    v[i] = to_float(p[i]);
  }
  return v;
#endif
}

inline void store(Half* p, F32 v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(reinterpret_cast<__m512>(v), 0));
#elif defined(__F16C__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(reinterpret_cast<__m256>(v), 0));
#else
  for (int i = 0; i < kLanes; ++i) {
    p[i] = from_float<Half>(v[i]);
  }
#endif
}

/// The first `count` lanes from memory, the others `fill`.
template <typename T>
F32 load_first(const T* p, int64_t count, float fill = 0.0F) {
  F32 v = broadcast(fill);
  for (int64_t i = 0; i < count; ++i) {
    v[i] = to_float(p[i]);
  }
  return v;
}

template <typename T>
void store_first(T* p, F32 v, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    p[i] = from_float<T>(v[i]);
  }
}

#if defined(__AVX512F__)
inline __mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>((1U << count) - 1U);
}

template <>
inline F32 load_first(const float* p, int64_t count, float fill) {
  return reinterpret_cast<F32>(_mm512_mask_loadu_ps(_mm512_set1_ps(fill), first_lanes(count), p));
}
template <>
inline void store_first(float* p, F32 v, int64_t count) {
  _mm512_mask_storeu_ps(p, first_lanes(count), reinterpret_cast<__m512>(v));
}
template <>
inline void store_first(Bf16* p, F32 v, int64_t count) {
  _mm256_mask_storeu_epi16(p, first_lanes(count), reinterpret_cast<__m256i>(to_bf16_bits(v)));
}
#endif

/// What `v` becomes when it is stored as T and read back.
template <typename T>
F32 round_to(F32 v) {
  T memory[kLanes];
  store(memory, v);
  return load(memory);
}
template <>
inline F32 round_to<float>(F32 v) {
  return v;
}
template <>
inline F32 round_to<Bf16>(F32 v) {
  return reinterpret_cast<F32>(__builtin_convertvector(to_bf16_bits(v), U32) << 16);
}

/// One instruction each: where either is not a number, the result is `b`.
inline F32 max(F32 a, F32 b) {
  return a > b ? a : b;
}
inline F32 min(F32 a, F32 b) {
  return a < b ? a : b;
}

inline float sum(F32 v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps(reinterpret_cast<__m512>(v));
#else
  float total = 0.0F;
  for (int i = 0; i < kLanes; ++i) {
    total += v[i];
  }
  return total;
#endif
}

inline float max_lane(F32 v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps(reinterpret_cast<__m512>(v));
#else
  float best = v[0];
  for (int i = 1; i < kLanes; ++i) {
    best = v[i] > best ? v[i] : best;
  }
  return best;
#endif
}

inline F32 sqrt(F32 v) {
#if defined(__AVX512F__)
  return reinterpret_cast<F32>(_mm512_sqrt_ps(reinterpret_cast<__m512>(v)));
#elif defined(__AVX2__)
  return reinterpret_cast<F32>(_mm256_sqrt_ps(reinterpret_cast<__m256>(v)));
#else
  for (int i = 0; i < kLanes; ++i) {
    v[i] = __builtin_sqrtf(v[i]);
  }
  return v;
#endif
}

/// e^x to about 2 units in the last place: 0 from -87.7 down, 2.2e38 from 88.3 up, NaN for NaN.
/// Range reduction and polynomial of the Cephes library's expf (Moshier).
inline F32 exp(F32 x) {
  constexpr float kLog2E = 1.44269504088896341F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  // 1.5 * 2^23 leaves an integer in the low mantissa bits; the bias makes them the exponent of 2^n.
  constexpr float kRoundingShift = 12582912.0F + 127.0F;
  // To -127 <= n <= 127; the power of the lowest becomes 0. The bounds come first: NaN goes on.
  x = min(broadcast(88.3F), max(broadcast(-88.0F), x));
  const F32 shifted = x * kLog2E + kRoundingShift;
  const F32 n = shifted - kRoundingShift;
  const F32 r = x - n * kLn2High - n * kLn2Low;
  F32 p = broadcast(1.9875691500e-4F);
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r;
  const F32 power = reinterpret_cast<F32>(reinterpret_cast<I32>(shifted) << 23);
  return p * power + power;
}

/// Calls body(offset, count) for whole vectors and then, once, for what is left over. `count` is the integral constant
/// kLanes in whole-vector calls, so that loads and stores there compile to one instruction.
struct WholeVector {};

template <typename T>
F32 load_lanes(const T* p, WholeVector) {
  return load(p);
}
template <typename T>
F32 load_lanes(const T* p, int64_t count) {
  return load_first(p, count);
}
template <typename T>
void store_lanes(T* p, F32 v, WholeVector) {
  store(p, v);
}
template <typename T>
void store_lanes(T* p, F32 v, int64_t count) {
  store_first(p, v, count);
}

template <typename Body>
void for_vectors(int64_t n, Body body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    body(i, WholeVector{});
  }
  if (i < n) {
    body(i, n - i);
  }
}

}  // namespace assay::engine::ASSAY_ISA
