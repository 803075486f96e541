// The three CRCs as polynomials over GF(2), bit-reflected: what tables, folding constants and combination derive from.
#pragma once

#include <array>
#include <cstdint>

namespace assay::storage {

struct Crc32cPolynomial {
  using Word = uint32_t;
  static constexpr Word kReflected = 0x82f63b78u;
};
struct Crc32Polynomial {
  using Word = uint32_t;
  static constexpr Word kReflected = 0xedb88320u;
};
struct Crc64NvmePolynomial {
  using Word = uint64_t;
  static constexpr Word kReflected = 0x9a6c9329ac4bc9b5u;
};

template <typename P>
inline constexpr int kWordBits = 8 * sizeof(typename P::Word);

/// a * x mod P: in the reflected form the coefficient of x^0 is the highest bit.
template <typename P>
constexpr typename P::Word TimesX(typename P::Word a) {
  return static_cast<typename P::Word>((a >> 1) ^ ((a & 1) != 0 ? P::kReflected : 0));
}

template <typename P>
inline constexpr typename P::Word kOne = typename P::Word{1} << (kWordBits<P> - 1);

/// x^exponent mod P.
template <typename P>
constexpr typename P::Word PowerOfX(int exponent) {
  typename P::Word a = kOne<P>;
  for (int i = 0; i < exponent; ++i) {
    a = TimesX<P>(a);
  }
  return a;
}

/// a * b mod P.
template <typename P>
constexpr typename P::Word Multiply(typename P::Word a, typename P::Word b) {
  typename P::Word product = 0;
  for (typename P::Word bit = kOne<P>; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) {
      product ^= b;
    }
    b = TimesX<P>(b);
  }
  return product;
}

/// The multiplier that moves 64 bits of a reflected message by `bits` in a carry-less product: x^(bits-1) mod P, since
/// the product of two reflected words comes out shifted by one; in the upper bits of 64.
template <typename P>
constexpr uint64_t FoldConstant(int bits) {
  return static_cast<uint64_t>(PowerOfX<P>(bits - 1)) << (64 - kWordBits<P>);
}

/// Tables of slicing-by-8 (Kounavis and Berry, "A systematic approach to building high performance software-based CRC
/// generators"): tables[k][b] is the CRC of byte b followed by k zero bytes.
template <typename P>
constexpr std::array<std::array<typename P::Word, 256>, 8> MakeTables() {
  std::array<std::array<typename P::Word, 256>, 8> tables{};
  for (int byte = 0; byte < 256; ++byte) {
    typename P::Word crc = static_cast<typename P::Word>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = TimesX<P>(crc);
    }
    tables[0][byte] = crc;
  }
  for (int k = 1; k < 8; ++k) {
    for (int byte = 0; byte < 256; ++byte) {
      const typename P::Word crc = tables[k - 1][byte];
      tables[k][byte] = static_cast<typename P::Word>((crc >> 8) ^ tables[0][crc & 255]);
    }
  }
  return tables;
}

}  // namespace assay::storage
