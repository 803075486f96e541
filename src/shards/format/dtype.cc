#include "shards/format/dtype.h"

#include <bit>
#include <cmath>
#include <limits>

namespace assay::shards {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  uint8_t bytes;
  uint8_t mds_code;  // 0: none
};

constexpr DTypeRow kDTypes[] = {
    {DType::kUint8, "uint8", 1, 8},  {DType::kInt8, "int8", 1, 9},        {DType::kUint16, "uint16", 2, 16},
    {DType::kInt16, "int16", 2, 17}, {DType::kFloat16, "float16", 2, 18}, {DType::kUint32, "uint32", 4, 32},
    {DType::kInt32, "int32", 4, 33}, {DType::kFloat32, "float32", 4, 34}, {DType::kUint64, "uint64", 8, 64},
    {DType::kInt64, "int64", 8, 65}, {DType::kFloat64, "float64", 8, 66}, {DType::kBool, "bool", 1, 0},
};

constexpr const DTypeRow& RowOf(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)];
}

}  // namespace

std::string_view NameOf(DType dtype) {
  return RowOf(dtype).name;
}

std::optional<DType> ParseDType(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) {
      return row.dtype;
    }
  }
  return std::nullopt;
}

size_t BytesOf(DType dtype) {
  return RowOf(dtype).bytes;
}

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

std::optional<uint8_t> MdsCodeOf(DType dtype) {
  const uint8_t code = RowOf(dtype).mds_code;
  return code == 0 ? std::nullopt : std::optional(code);
}

std::optional<DType> DTypeOfMdsCode(uint8_t code) {
  for (const DTypeRow& row : kDTypes) {
    if (row.mds_code == code && code != 0) {
      return row.dtype;
    }
  }
  return std::nullopt;
}

uint16_t HalfOf(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(value);
  if (std::isnan(value)) {
    return sign | 0x7e00;
  }
  if (size >= 65520) {  // the middle between the largest half and what would be the next
    return sign | 0x7c00;
  }
  // Multiples of the distance between halves there, rounded as the processor rounds: to the nearest, ties to even.
  const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 14) << 10) + steps));
}

double DoubleOfHalf(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

}  // namespace assay::shards
