#include <cstring>

#include "storage/integrity/crc_kernels.h"

namespace assay::storage {
namespace {

template <typename P>
constexpr auto kTables = MakeTables<P>();

}  // namespace

template <typename P>
typename P::Word UpdateByTable(typename P::Word crc, const std::byte* data, size_t size) {
  const auto& tables = kTables<P>;
  for (; size >= 8; size -= 8, data += 8) {
    uint64_t word;
    std::memcpy(&word, data, sizeof word);
    word ^= crc;
    crc = tables[7][word & 255] ^ tables[6][(word >> 8) & 255] ^ tables[5][(word >> 16) & 255] ^
          tables[4][(word >> 24) & 255] ^ tables[3][(word >> 32) & 255] ^ tables[2][(word >> 40) & 255] ^
          tables[1][(word >> 48) & 255] ^ tables[0][word >> 56];
  }
  for (; size > 0; --size, ++data) {
    crc = static_cast<typename P::Word>((crc >> 8) ^ tables[0][(crc ^ static_cast<uint8_t>(*data)) & 255]);
  }
  return crc;
}

template uint32_t UpdateByTable<Crc32cPolynomial>(uint32_t, const std::byte*, size_t);
template uint32_t UpdateByTable<Crc32Polynomial>(uint32_t, const std::byte*, size_t);
template uint64_t UpdateByTable<Crc64NvmePolynomial>(uint64_t, const std::byte*, size_t);

}  // namespace assay::storage
