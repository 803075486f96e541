// Folding by 128-bit carry-less products: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction" (Intel, 2009), in the bit-reflected form. A message is replaced by a shorter one that has the same
// remainder; the last 16 bytes go through the table, so no Barrett reduction is needed.
#include <cstring>

#include "storage/integrity/crc_kernels.h"

#ifdef __x86_64__
#include <immintrin.h>

#define ASSAY_PCLMUL_TARGET __attribute__((target("sse4.1,pclmul")))

namespace assay::storage {
namespace {

constexpr int kLanes = 8;
constexpr size_t kLaneBytes = 16;
constexpr size_t kBlockBytes = kLanes * kLaneBytes;

// Multipliers that move a lane by `bits`: its first 8 bytes stand 64 bits further up.
template <typename P, int bits>
ASSAY_PCLMUL_TARGET inline __m128i Multipliers() {
  constexpr uint64_t kFirst = FoldConstant<P>(bits + 64);
  constexpr uint64_t kSecond = FoldConstant<P>(bits);
  return _mm_set_epi64x(static_cast<int64_t>(kSecond), static_cast<int64_t>(kFirst));
}

ASSAY_PCLMUL_TARGET inline __m128i Fold(__m128i lane, __m128i multipliers, __m128i next) {
  const __m128i first = _mm_clmulepi64_si128(lane, multipliers, 0x00);
  const __m128i second = _mm_clmulepi64_si128(lane, multipliers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(first, second), next);
}

ASSAY_PCLMUL_TARGET inline __m128i Load(const std::byte* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

// Folds all but the last lane's worth of whole blocks; at least one block must be there.
template <typename P>
ASSAY_PCLMUL_TARGET __m128i FoldBlocks(typename P::Word crc, const std::byte*& data, size_t& size) {
  __m128i lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    lanes[i] = Load(data + i * kLaneBytes);
  }
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi64_si128(static_cast<int64_t>(crc)));
  data += kBlockBytes;
  size -= kBlockBytes;
  const __m128i block = Multipliers<P, 8 * kBlockBytes>();
  for (; size >= kBlockBytes; size -= kBlockBytes, data += kBlockBytes) {
    for (int i = 0; i < kLanes; ++i) {
      lanes[i] = Fold(lanes[i], block, Load(data + i * kLaneBytes));
    }
  }
  const __m128i one = Multipliers<P, 8 * kLaneBytes>();
  __m128i sum = lanes[0];
  for (int i = 1; i < kLanes; ++i) {
    sum = Fold(sum, one, lanes[i]);
  }
  return sum;
}

template <typename P>
ASSAY_PCLMUL_TARGET typename P::Word Update(typename P::Word crc, const std::byte* data, size_t size) {
  if (size < 2 * kLaneBytes) {
    return UpdateByTable<P>(crc, data, size);
  }
  __m128i sum;
  if (size >= kBlockBytes) {
    sum = FoldBlocks<P>(crc, data, size);
  } else {
    sum = _mm_xor_si128(Load(data), _mm_cvtsi64_si128(static_cast<int64_t>(crc)));
    data += kLaneBytes;
    size -= kLaneBytes;
  }
  const __m128i one = Multipliers<P, 8 * kLaneBytes>();
  for (; size >= kLaneBytes; size -= kLaneBytes, data += kLaneBytes) {
    sum = Fold(sum, one, Load(data));
  }
  std::byte rest[kLaneBytes];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), sum);
  return UpdateByTable<P>(UpdateByTable<P>(0, rest, sizeof rest), data, size);
}

}  // namespace

// GCC takes the target of a template from its first declaration, hence the body above.
template <typename P>
typename P::Word UpdateByPclmul(typename P::Word crc, const std::byte* data, size_t size) {
  return Update<P>(crc, data, size);
}

template uint32_t UpdateByPclmul<Crc32cPolynomial>(uint32_t, const std::byte*, size_t);
template uint32_t UpdateByPclmul<Crc32Polynomial>(uint32_t, const std::byte*, size_t);
template uint64_t UpdateByPclmul<Crc64NvmePolynomial>(uint64_t, const std::byte*, size_t);

}  // namespace assay::storage
#endif
