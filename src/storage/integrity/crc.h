// How CRCs are computed, and which way this machine takes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "storage/integrity/checksum.h"

namespace assay::storage {

/// The ways to compute a CRC, slowest first.
enum class CrcEngine {
  kTable,    ///< slicing-by-8: everywhere
  kPclmul,   ///< folding by 128-bit carry-less products: x86-64 with PCLMULQDQ
  kVpclmul,  ///< folding by 512-bit ones: AVX-512 with VPCLMULQDQ
};

bool IsSupported(CrcEngine engine);
/// The fastest that the machine has, unless ASSAY_CRC_ENGINE (table, pclmul, vpclmul) names a supported one. Decided at
/// the first call.
CrcEngine BestCrcEngine();

/// As Crc32c and its like of checksum.h, by that engine, which must be supported.
uint32_t Crc32cBy(CrcEngine engine, uint32_t crc, std::span<const std::byte> bytes);
uint32_t Crc32By(CrcEngine engine, uint32_t crc, std::span<const std::byte> bytes);
uint64_t Crc64NvmeBy(CrcEngine engine, uint64_t crc, std::span<const std::byte> bytes);

}  // namespace assay::storage
