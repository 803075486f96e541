#include "checkpoint/tensor/dtype.h"

#include <algorithm>

namespace assay::checkpoint {
namespace {

constexpr DTypeInfo kInfos[] = {
    {DType::kFloat64, "float64", "DoubleStorage", "F64", 64},
    {DType::kFloat32, "float32", "FloatStorage", "F32", 32},
    {DType::kFloat16, "float16", "HalfStorage", "F16", 16},
    {DType::kBFloat16, "bfloat16", "BFloat16Storage", "BF16", 16},
    {DType::kInt64, "int64", "LongStorage", "I64", 64},
    {DType::kInt32, "int32", "IntStorage", "I32", 32},
    {DType::kInt16, "int16", "ShortStorage", "I16", 16},
    {DType::kInt8, "int8", "CharStorage", "I8", 8},
    {DType::kUInt64, "uint64", "", "U64", 64},
    {DType::kUInt32, "uint32", "", "U32", 32},
    {DType::kUInt16, "uint16", "", "U16", 16},
    {DType::kUInt8, "uint8", "ByteStorage", "U8", 8},
    {DType::kBool, "bool", "BoolStorage", "BOOL", 8},
    {DType::kComplex128, "complex128", "ComplexDoubleStorage", "", 128},
    {DType::kComplex64, "complex64", "ComplexFloatStorage", "C64", 64},
    {DType::kComplex32, "complex32", "", "", 32},
    {DType::kFloat8E4M3Fn, "float8_e4m3fn", "", "F8_E4M3", 8},
    {DType::kFloat8E4M3FnUz, "float8_e4m3fnuz", "", "F8_E4M3FNUZ", 8},
    {DType::kFloat8E5M2, "float8_e5m2", "", "F8_E5M2", 8},
    {DType::kFloat8E5M2FnUz, "float8_e5m2fnuz", "", "F8_E5M2FNUZ", 8},
    {DType::kFloat8E8M0Fnu, "float8_e8m0fnu", "", "F8_E8M0", 8},
    {DType::kFloat4E2M1FnX2, "float4_e2m1fn_x2", "", "F4", 8},
    {DType::kQInt8, "qint8", "QInt8Storage", "", 8, true},
    {DType::kQUInt8, "quint8", "QUInt8Storage", "", 8, true},
    {DType::kQInt32, "qint32", "QInt32Storage", "", 32, true},
    {DType::kQUInt4x2, "quint4x2", "QUInt4x2Storage", "", 4, true},
    {DType::kQUInt2x4, "quint2x4", "QUInt2x4Storage", "", 2, true},
    {DType::kBits8, "bits8", "", "", 8},
    {DType::kBits16, "bits16", "", "", 16},
    {DType::kBits1x8, "bits1x8", "", "", 8},
    {DType::kBits2x4, "bits2x4", "", "", 8},
    {DType::kBits4x2, "bits4x2", "", "", 8},
};

/// The row whose `field` is `name`; null for none, and for the empty name.
const DTypeInfo* Find(std::string_view DTypeInfo::* field, std::string_view name) {
  const auto* row = std::ranges::find(kInfos, name, field);
  return name.empty() || row == std::end(kInfos) ? nullptr : row;
}

}  // namespace

const DTypeInfo& InfoOf(DType dtype) {
  return kInfos[static_cast<size_t>(dtype)];
}

std::span<const DTypeInfo> DTypes() {
  return kInfos;
}

const DTypeInfo* FindDType(std::string_view torch_name) {
  return Find(&DTypeInfo::name, torch_name);
}

const DTypeInfo* FindDTypeOfStorage(std::string_view storage_class) {
  return Find(&DTypeInfo::storage_class, storage_class);
}

const DTypeInfo* FindDTypeOfSafetensors(std::string_view safetensors_name) {
  return Find(&DTypeInfo::safetensors, safetensors_name);
}

}  // namespace assay::checkpoint
