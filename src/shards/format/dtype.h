// Types of numbers in arrays and scalars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace assay::shards {

enum class DType : uint8_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kFloat16,
  kUint32,
  kInt32,
  kFloat32,
  kUint64,
  kInt64,
  kFloat64,
  kBool,  ///< of litdata; MDS has none
};

/// "uint8", as numpy names it.
std::string_view NameOf(DType dtype);
std::optional<DType> ParseDType(std::string_view name);
size_t BytesOf(DType dtype);
bool IsFloat(DType dtype);

/// The byte that stands for it in arrays of MDS; nothing for bool.
std::optional<uint8_t> MdsCodeOf(DType dtype);
std::optional<DType> DTypeOfMdsCode(uint8_t code);

/// IEEE 754 half precision of `value`, rounded to the nearest, ties to even, as numpy rounds from double.
uint16_t HalfOf(double value);
double DoubleOfHalf(uint16_t half);

}  // namespace assay::shards
