#include "storage/integrity/crc.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "storage/integrity/crc_kernels.h"

namespace assay::storage {
namespace {

constexpr std::array<std::pair<std::string_view, CrcEngine>, 3> kEngineNames = {{
    {"table", CrcEngine::kTable},
    {"pclmul", CrcEngine::kPclmul},
    {"vpclmul", CrcEngine::kVpclmul},
}};

CrcEngine ChooseEngine() {
  if (const char* wanted = std::getenv("ASSAY_CRC_ENGINE")) {
    for (const auto& [name, engine] : kEngineNames) {
      if (name == wanted && IsSupported(engine)) {
        return engine;
      }
    }
  }
  if (IsSupported(CrcEngine::kVpclmul)) {
    return CrcEngine::kVpclmul;
  }
  return IsSupported(CrcEngine::kPclmul) ? CrcEngine::kPclmul : CrcEngine::kTable;
}

template <typename P>
typename P::Word Update(CrcEngine engine, typename P::Word crc, std::span<const std::byte> bytes) {
  using Word = typename P::Word;
  const Word before = static_cast<Word>(~crc);
  Word after = before;
#ifdef __x86_64__
  if (engine == CrcEngine::kVpclmul) {
    after = UpdateByVpclmul<P>(before, bytes.data(), bytes.size());
  } else if (engine == CrcEngine::kPclmul) {
    after = UpdateByPclmul<P>(before, bytes.data(), bytes.size());
  } else {
    after = UpdateByTable<P>(before, bytes.data(), bytes.size());
  }
#else
  after = UpdateByTable<P>(before, bytes.data(), bytes.size());
#endif
  return static_cast<Word>(~after);
}

// x^(8 * 2^k) mod P.
template <typename P>
constexpr std::array<typename P::Word, 63> MakeBytePowers() {
  std::array<typename P::Word, 63> powers{};
  powers[0] = PowerOfX<P>(8);
  for (size_t k = 1; k < powers.size(); ++k) {
    powers[k] = Multiply<P>(powers[k - 1], powers[k - 1]);
  }
  return powers;
}

// The inversions before and after the two CRCs cancel out, so the first is only moved up by the second's length.
template <typename P>
typename P::Word Combine(typename P::Word first, typename P::Word second, int64_t second_bytes) {
  static constexpr auto kBytePowers = MakeBytePowers<P>();
  for (size_t k = 0; second_bytes > 0; ++k, second_bytes >>= 1) {
    if ((second_bytes & 1) != 0) {
      first = Multiply<P>(first, kBytePowers[k]);
    }
  }
  return first ^ second;
}

}  // namespace

bool IsSupported(CrcEngine engine) {
#ifdef __x86_64__
  if (engine == CrcEngine::kVpclmul) {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0;
  }
  if (engine == CrcEngine::kPclmul) {
    return __builtin_cpu_supports("sse4.1") != 0 && __builtin_cpu_supports("pclmul") != 0;
  }
#endif
  return engine == CrcEngine::kTable;
}

CrcEngine BestCrcEngine() {
  static const CrcEngine engine = ChooseEngine();
  return engine;
}

uint32_t Crc32cBy(CrcEngine engine, uint32_t crc, std::span<const std::byte> bytes) {
  return Update<Crc32cPolynomial>(engine, crc, bytes);
}
uint32_t Crc32By(CrcEngine engine, uint32_t crc, std::span<const std::byte> bytes) {
  return Update<Crc32Polynomial>(engine, crc, bytes);
}
uint64_t Crc64NvmeBy(CrcEngine engine, uint64_t crc, std::span<const std::byte> bytes) {
  return Update<Crc64NvmePolynomial>(engine, crc, bytes);
}

uint32_t Crc32c(uint32_t crc, std::span<const std::byte> bytes) {
  return Crc32cBy(BestCrcEngine(), crc, bytes);
}
uint32_t Crc32(uint32_t crc, std::span<const std::byte> bytes) {
  return Crc32By(BestCrcEngine(), crc, bytes);
}
uint64_t Crc64Nvme(uint64_t crc, std::span<const std::byte> bytes) {
  return Crc64NvmeBy(BestCrcEngine(), crc, bytes);
}

uint32_t CombineCrc32c(uint32_t first, uint32_t second, int64_t second_bytes) {
  return Combine<Crc32cPolynomial>(first, second, second_bytes);
}
uint32_t CombineCrc32(uint32_t first, uint32_t second, int64_t second_bytes) {
  return Combine<Crc32Polynomial>(first, second, second_bytes);
}
uint64_t CombineCrc64Nvme(uint64_t first, uint64_t second, int64_t second_bytes) {
  return Combine<Crc64NvmePolynomial>(first, second, second_bytes);
}

}  // namespace assay::storage
