#include "engine/model/element_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using checkpoint::DType;

constexpr std::pair<DType, at::ScalarType> kScalarTypes[] = {
    {DType::kFloat64, at::kDouble},
    {DType::kFloat32, at::kFloat},
    {DType::kFloat16, at::kHalf},
    {DType::kBFloat16, at::kBFloat16},
    {DType::kInt64, at::kLong},
    {DType::kInt32, at::kInt},
    {DType::kInt16, at::kShort},
    {DType::kInt8, at::kChar},
    {DType::kUInt64, at::kUInt64},
    {DType::kUInt32, at::kUInt32},
    {DType::kUInt16, at::kUInt16},
    {DType::kUInt8, at::kByte},
    {DType::kBool, at::kBool},
    {DType::kComplex64, at::kComplexFloat},
    {DType::kFloat8E4M3Fn, at::kFloat8_e4m3fn},
    {DType::kFloat8E4M3FnUz, at::kFloat8_e4m3fnuz},
    {DType::kFloat8E5M2, at::kFloat8_e5m2},
    {DType::kFloat8E5M2FnUz, at::kFloat8_e5m2fnuz},
    {DType::kFloat8E8M0Fnu, at::kFloat8_e8m0fnu},
    {DType::kFloat4E2M1FnX2, at::kFloat4_e2m1fn_x2},
};

}  // namespace

DType element_type_of(at::ScalarType type) {
  const auto* row = std::ranges::find(kScalarTypes, type, &std::pair<DType, at::ScalarType>::second);
  if (row == std::end(kScalarTypes)) {
    throw StatusError(Status::Internal(fmt::format("cannot write dtype {} to a file", c10::toString(type))));
  }
  return row->first;
}

std::optional<at::ScalarType> scalar_type_of(DType type) {
  const auto* row = std::ranges::find(kScalarTypes, type, &std::pair<DType, at::ScalarType>::first);
  return row == std::end(kScalarTypes) ? std::nullopt : std::optional(row->second);
}

}  // namespace assay::engine
