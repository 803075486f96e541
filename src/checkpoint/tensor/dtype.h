// Types of tensor elements, by the names that torch and the file formats have for them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace assay::checkpoint {

enum class DType : uint8_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt64,
  kUInt32,
  kUInt16,
  kUInt8,
  kBool,
  kComplex128,
  kComplex64,
  kComplex32,
  kFloat8E4M3Fn,
  kFloat8E4M3FnUz,
  kFloat8E5M2,
  kFloat8E5M2FnUz,
  kFloat8E8M0Fnu,
  kFloat4E2M1FnX2,
  kQInt8,
  kQUInt8,
  kQInt32,
  kQUInt4x2,
  kQUInt2x4,
  kBits8,
  kBits16,
  kBits1x8,
  kBits2x4,
  kBits4x2,
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;  ///< torch's, without "torch."
  /// The class in module torch by which torch.save names a storage of this type. Empty: such a storage goes without a
  /// type, and the tensor names the dtype itself.
  std::string_view storage_class;
  std::string_view safetensors;  ///< empty: the format has no name for it
  int element_bits;
  bool quantized = false;
};

const DTypeInfo& InfoOf(DType dtype);
/// All of them.
std::span<const DTypeInfo> DTypes();
/// Null for a name that is not known.
const DTypeInfo* FindDType(std::string_view torch_name);
const DTypeInfo* FindDTypeOfStorage(std::string_view storage_class);
const DTypeInfo* FindDTypeOfSafetensors(std::string_view safetensors_name);

/// Bytes of one element; 1 where several lie in a byte.
inline int64_t ElementBytes(DType dtype) {
  return (InfoOf(dtype).element_bits + 7) / 8;
}
/// Whether several elements lie in one byte, so that a part of a tensor need not begin at one.
inline bool IsPacked(DType dtype) {
  return InfoOf(dtype).element_bits < 8;
}
/// Bytes that so many elements take, one behind the other.
inline int64_t BytesOf(DType dtype, int64_t elements) {
  return IsPacked(dtype) ? (elements * InfoOf(dtype).element_bits + 7) / 8 : elements * ElementBytes(dtype);
}

}  // namespace assay::checkpoint
