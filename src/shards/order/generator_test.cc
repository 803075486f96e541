#include "shards/order/generator.h"

#include <gmock/gmock.h>

#include <numeric>

#include "shards/order/numpy_sum.h"

namespace assay::shards {
namespace {

using testing::ElementsAre;

TEST(Pcg64, DrawsWhatNumpyDraws) {
  // numpy.random.default_rng(9176).bit_generator.random_raw(3)
  Pcg64 bits(9176);
  EXPECT_EQ(bits.Next64(), 14864287112915649284u);
  EXPECT_EQ(bits.Next64(), 2538383001129672880u);
  EXPECT_EQ(bits.Next64(), 13548176007687939484u);
}

TEST(Pcg64, KeepsHalfADrawWhateverComesBetween) {
  Pcg64 bits(9176);
  EXPECT_EQ(bits.Next32(), static_cast<uint32_t>(14864287112915649284u));
  EXPECT_EQ(bits.Next64(), 2538383001129672880u);
  EXPECT_EQ(bits.Next32(), static_cast<uint32_t>(14864287112915649284u >> 32));
  EXPECT_EQ(bits.Next32(), static_cast<uint32_t>(13548176007687939484u));
}

TEST(Pcg64, TakesSeedsOfMoreThan32Bits) {
  // numpy.random.default_rng(2**40 + 7).bit_generator.random_raw(), and of 0
  EXPECT_EQ(Pcg64((uint64_t{1} << 40) + 7).Next64(), 15307346044642009514u);
  EXPECT_EQ(Pcg64(0).Next64(), 11749869230777074271u);
}

TEST(Generator, ShufflesWholeAndPartBatchesOfDraws) {
  // [numpy.random.default_rng(n).permutation(n)[:4] for n in (5, 64, 65, 200)]
  const auto first_four = [](uint32_t n) {
    std::vector<uint32_t> values(n);
    std::iota(values.begin(), values.end(), 0u);
    Generator(n).Shuffle(values);
    values.resize(4);
    return values;
  };
  EXPECT_THAT(first_four(5), ElementsAre(4, 3, 1, 2));
  EXPECT_THAT(first_four(64), ElementsAre(22, 0, 30, 21));
  EXPECT_THAT(first_four(65), ElementsAre(51, 42, 3, 11));
  EXPECT_THAT(first_four(200), ElementsAre(125, 159, 147, 112));
}

TEST(Generator, DrawsIntegersOfAnyWidth) {
  // g = numpy.random.default_rng(3); g.integers(0, 10), (5, 6), (0, 2**32), (0, 2**40), (-3, 4)
  Generator generator(3);
  EXPECT_EQ(generator.Integers(0, 10), 8);
  EXPECT_EQ(generator.Integers(5, 6), 5);
  EXPECT_EQ(generator.Integers(0, int64_t{1} << 32), 367860371);
  EXPECT_EQ(generator.Integers(0, int64_t{1} << 40), 260375905581);
  EXPECT_EQ(generator.Integers(-3, 4), -2);
}

TEST(Generator, ChoosesByBothOfNumpysMethods) {
  // numpy.random.default_rng(11).choice(20, 6, False); .choice(20000, 1000, False)[:4]
  EXPECT_THAT(Generator(11).Choice(20, 6), ElementsAre(8, 13, 12, 15, 2, 11));
  std::vector<uint32_t> many = Generator(11).Choice(20000, 1000);
  EXPECT_EQ(many.size(), 1000u);
  many.resize(4);
  EXPECT_THAT(many, ElementsAre(15148, 11237, 12942, 13198));
}

TEST(NumpySum, RoundsAsNumpyDoes) {
  // numpy.sum(1 / numpy.arange(1, n + 1)) for n in (3, 8, 13, 300)
  const auto harmonic = [](int n) {
    std::vector<double> values;
    for (int i = 1; i <= n; ++i) {
      values.push_back(1.0 / i);
    }
    return NumpySum(values);
  };
  EXPECT_EQ(harmonic(3), 0x1.d555555555555p+0);
  EXPECT_EQ(harmonic(8), 0x1.5be2be2be2be2p+1);
  EXPECT_EQ(harmonic(13), 0x1.970e9f759a426p+1);
  EXPECT_EQ(harmonic(300), 0x1.92172a3e6965ap+2);
}

}  // namespace
}  // namespace assay::shards
