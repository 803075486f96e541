// Folding by 512-bit carry-less products: crc_pclmul.cc with four lanes a register.
#include <cstring>

#include "storage/integrity/crc_kernels.h"

#ifdef __x86_64__
#include <immintrin.h>

#define ASSAY_VPCLMUL_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,vpclmulqdq,pclmul")))

namespace assay::storage {
namespace {

constexpr int kRegisters = 4;
constexpr size_t kRegisterBytes = 64;
constexpr size_t kBlockBytes = kRegisters * kRegisterBytes;

template <typename P, int bits>
ASSAY_VPCLMUL_TARGET inline __m512i Multipliers() {
  constexpr uint64_t kFirst = FoldConstant<P>(bits + 64);
  constexpr uint64_t kSecond = FoldConstant<P>(bits);
  return _mm512_broadcast_i64x2(_mm_set_epi64x(static_cast<int64_t>(kSecond), static_cast<int64_t>(kFirst)));
}

ASSAY_VPCLMUL_TARGET inline __m512i Fold(__m512i lanes, __m512i multipliers, __m512i next) {
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(lanes, multipliers, 0x00),
                                   _mm512_clmulepi64_epi128(lanes, multipliers, 0x11), next, kXorOfThree);
}

ASSAY_VPCLMUL_TARGET inline __m512i Load(const std::byte* data) {
  return _mm512_loadu_si512(data);
}

// The four lanes of a register in one, which takes the place of the last.
template <typename P>
ASSAY_VPCLMUL_TARGET inline void StoreSum(__m512i lanes, std::byte* sum) {
  const __m512i multipliers = _mm512_set_epi64(
      0, 0, static_cast<int64_t>(FoldConstant<P>(128)), static_cast<int64_t>(FoldConstant<P>(128 + 64)),
      static_cast<int64_t>(FoldConstant<P>(256)), static_cast<int64_t>(FoldConstant<P>(256 + 64)),
      static_cast<int64_t>(FoldConstant<P>(384)), static_cast<int64_t>(FoldConstant<P>(384 + 64)));
  const __m512i last = _mm512_maskz_mov_epi64(0xc0, lanes);
  const __m512i moved = Fold(lanes, multipliers, last);
  const __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(moved), _mm512_extracti64x4_epi64(moved, 1));
  const __m128i whole = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(sum), whole);
}

template <typename P>
ASSAY_VPCLMUL_TARGET typename P::Word Update(typename P::Word crc, const std::byte* data, size_t size) {
  if (size < kBlockBytes) {
    return UpdateByPclmul<P>(crc, data, size);
  }
  __m512i lanes[kRegisters];
  for (int i = 0; i < kRegisters; ++i) {
    lanes[i] = Load(data + i * kRegisterBytes);
  }
  lanes[0] = _mm512_xor_si512(lanes[0], _mm512_zextsi128_si512(_mm_cvtsi64_si128(static_cast<int64_t>(crc))));
  data += kBlockBytes;
  size -= kBlockBytes;
  const __m512i block = Multipliers<P, 8 * kBlockBytes>();
  for (; size >= kBlockBytes; size -= kBlockBytes, data += kBlockBytes) {
    for (int i = 0; i < kRegisters; ++i) {
      lanes[i] = Fold(lanes[i], block, Load(data + i * kRegisterBytes));
    }
  }
  const __m512i one = Multipliers<P, 8 * kRegisterBytes>();
  __m512i sum = lanes[0];
  for (int i = 1; i < kRegisters; ++i) {
    sum = Fold(sum, one, lanes[i]);
  }
  for (; size >= kRegisterBytes; size -= kRegisterBytes, data += kRegisterBytes) {
    sum = Fold(sum, one, Load(data));
  }
  std::byte rest[16];
  StoreSum<P>(sum, rest);
  return UpdateByPclmul<P>(UpdateByTable<P>(0, rest, sizeof rest), data, size);
}

}  // namespace

// GCC takes the target of a template from its first declaration, hence the body above.
template <typename P>
typename P::Word UpdateByVpclmul(typename P::Word crc, const std::byte* data, size_t size) {
  return Update<P>(crc, data, size);
}

template uint32_t UpdateByVpclmul<Crc32cPolynomial>(uint32_t, const std::byte*, size_t);
template uint32_t UpdateByVpclmul<Crc32Polynomial>(uint32_t, const std::byte*, size_t);
template uint64_t UpdateByVpclmul<Crc64NvmePolynomial>(uint64_t, const std::byte*, size_t);

}  // namespace assay::storage
#endif
