// 16-bit floating-point numbers as plain memory, so that the CPU kernels need no header of libtorch.
#pragma once

#include <cstdint>

namespace assay::engine {

/// bfloat16: the upper half of a float32.
struct Bf16 {
  uint16_t bits;
};

/// IEEE 754 binary16.
struct Half {
  uint16_t bits;
};

// Internal linkage: every unit is built for its own instruction set and must keep its own copy.
namespace {

inline float float_of_bits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float to_float(float x) {
  return x;
}

inline float to_float(Bf16 x) {
  return float_of_bits(static_cast<uint32_t>(x.bits) << 16);
}

/// Scales the mantissa and exponent of binary16 into place; 2^112 makes up for the different exponent bias.
inline float to_float(Half x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000U) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(x.bits & 0x7fffU) << 13;
  constexpr uint32_t kInfinityHalf = 0x7c00U << 13;
  if (magnitude >= kInfinityHalf) {
    return float_of_bits(sign | 0x7f800000U | (magnitude & 0x7fffffU));
  }
  const float scaled = float_of_bits(magnitude) * 0x1p112F;
  return float_of_bits(sign | bits_of_float(scaled));
}

template <typename T>
T from_float(float x);

template <>
inline float from_float<float>(float x) {
  return x;
}

template <>
inline Bf16 from_float<Bf16>(float x) {
  const uint32_t bits = bits_of_float(x);
  if (x != x) {
    return {0x7fc0};
  }
  return {static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

template <>
inline Half from_float<Half>(float x) {
  const uint32_t bits = bits_of_float(x);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return {static_cast<uint16_t>(sign | 0x7e00U)};
  }
  if (magnitude >= 0x477ff000U) {  // rounds to 65536 or more
    return {static_cast<uint16_t>(sign | 0x7c00U)};
  }
  if (magnitude < 0x38800000U) {  // subnormal: let the adder align and round the mantissa
    const float aligned = float_of_bits(magnitude) + 0.5F;
    return {static_cast<uint16_t>(sign | (bits_of_float(aligned) - 0x3f000000U))};
  }
  const uint32_t rebased = magnitude - 0x38000000U;
  return {static_cast<uint16_t>(sign | ((rebased + 0xfffU + ((rebased >> 13) & 1U)) >> 13))};
}

}  // namespace
}  // namespace assay::engine
