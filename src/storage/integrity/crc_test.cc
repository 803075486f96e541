#include "storage/integrity/crc.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "storage/integrity/polynomial.h"

namespace assay::storage {
namespace {

// The definition: one bit at a time.
template <typename P>
typename P::Word Bitwise(typename P::Word crc, std::span<const std::byte> bytes) {
  crc = static_cast<typename P::Word>(~crc);
  for (const std::byte byte : bytes) {
    crc ^= static_cast<typename P::Word>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = static_cast<typename P::Word>((crc >> 1) ^ ((crc & 1) != 0 ? P::kReflected : 0));
    }
  }
  return static_cast<typename P::Word>(~crc);
}

std::vector<std::byte> RandomBytes(size_t size) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  return bytes;
}

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class CrcEngineTest : public testing::TestWithParam<CrcEngine> {
 protected:
  void SetUp() override {
    if (!IsSupported(GetParam())) {
      GTEST_SKIP() << "this machine lacks the instructions";
    }
  }
};

TEST_P(CrcEngineTest, KnownVectors) {
  EXPECT_EQ(Crc32cBy(GetParam(), 0, BytesOf("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32By(GetParam(), 0, BytesOf("123456789")), 0xcbf43926u);
  EXPECT_EQ(Crc64NvmeBy(GetParam(), 0, BytesOf("123456789")), 0xae8b14860a799888u);
  // RFC 3720 appendix B.4: 32 bytes of zeros, of ones, rising.
  EXPECT_EQ(Crc32cBy(GetParam(), 0, BytesOf(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(Crc32cBy(GetParam(), 0, BytesOf(std::string(32, '\xff'))), 0x62a8ab43u);
  std::string rising(32, '\0');
  for (int i = 0; i < 32; ++i) {
    rising[i] = static_cast<char>(i);
  }
  EXPECT_EQ(Crc32cBy(GetParam(), 0, BytesOf(rising)), 0x46dd794eu);
}

TEST_P(CrcEngineTest, EveryLengthAndStartEqualsTheDefinition) {
  const std::vector<std::byte> bytes = RandomBytes(1100);
  for (size_t start = 0; start < 64; ++start) {
    uint32_t crc32c = 5;
    uint32_t crc32 = 6;
    uint64_t crc64 = 7;
    for (size_t size = 0; size <= 1000; ++size) {
      const auto part = std::span(bytes).subspan(start, size);
      ASSERT_EQ(Crc32cBy(GetParam(), 5, part), crc32c) << start << " " << size;
      ASSERT_EQ(Crc32By(GetParam(), 6, part), crc32) << start << " " << size;
      ASSERT_EQ(Crc64NvmeBy(GetParam(), 7, part), crc64) << start << " " << size;
      const auto next = std::span(bytes).subspan(start + size, 1);
      crc32c = Bitwise<Crc32cPolynomial>(crc32c, next);
      crc32 = Bitwise<Crc32Polynomial>(crc32, next);
      crc64 = Bitwise<Crc64NvmePolynomial>(crc64, next);
    }
  }
}

TEST_P(CrcEngineTest, LargeInputsEqualTheDefinition) {
  const std::vector<std::byte> bytes = RandomBytes(300'001);
  EXPECT_EQ(Crc32cBy(GetParam(), 0, bytes), Bitwise<Crc32cPolynomial>(0, bytes));
  EXPECT_EQ(Crc32By(GetParam(), 0, bytes), Bitwise<Crc32Polynomial>(0, bytes));
  EXPECT_EQ(Crc64NvmeBy(GetParam(), 0, bytes), Bitwise<Crc64NvmePolynomial>(0, bytes));
}

INSTANTIATE_TEST_SUITE_P(Engines, CrcEngineTest,
                         testing::Values(CrcEngine::kTable, CrcEngine::kPclmul, CrcEngine::kVpclmul));

TEST(Crc, CombinesAsIfConcatenated) {
  const std::vector<std::byte> bytes = RandomBytes(5000);
  for (size_t cut : {0, 1, 7, 2048, 4999, 5000}) {
    const auto first = std::span(bytes).first(cut);
    const auto second = std::span(bytes).subspan(cut);
    const auto size = static_cast<int64_t>(second.size());
    EXPECT_EQ(CombineCrc32c(Crc32c(0, first), Crc32c(0, second), size), Crc32c(0, bytes));
    EXPECT_EQ(CombineCrc32(Crc32(0, first), Crc32(0, second), size), Crc32(0, bytes));
    EXPECT_EQ(CombineCrc64Nvme(Crc64Nvme(0, first), Crc64Nvme(0, second), size), Crc64Nvme(0, bytes));
  }
}

// Moving by n and then by m is moving by n + m, also where lengths do not fit 32 bits.
TEST(Crc, CombinesAcrossHugeLengths) {
  const int64_t n = int64_t{7} << 40;
  const int64_t m = (int64_t{1} << 33) + 12345;
  EXPECT_EQ(CombineCrc32c(CombineCrc32c(0x12345678u, 0, n), 0, m), CombineCrc32c(0x12345678u, 0, n + m));
  EXPECT_EQ(CombineCrc64Nvme(CombineCrc64Nvme(0x123456789abcdefu, 0, n), 0, m),
            CombineCrc64Nvme(0x123456789abcdefu, 0, n + m));
}

TEST(CrcDeathTest, TheEnvironmentChoosesTheEngine) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a fresh process, which has chosen nothing yet
  const auto chosen_with = [](const char* value) {
    ::setenv("ASSAY_CRC_ENGINE", value, 1);
    std::exit(static_cast<int>(BestCrcEngine()));
  };
  EXPECT_EXIT(chosen_with("table"), testing::ExitedWithCode(static_cast<int>(CrcEngine::kTable)), "");
  if (IsSupported(CrcEngine::kPclmul)) {
    EXPECT_EXIT(chosen_with("pclmul"), testing::ExitedWithCode(static_cast<int>(CrcEngine::kPclmul)), "");
  }
}

TEST(Crc, TheBestEngineIsSupported) {
  EXPECT_TRUE(IsSupported(BestCrcEngine()));
}

}  // namespace
}  // namespace assay::storage
