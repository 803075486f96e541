#include "shards/order/shuffle.h"

#include <gmock/gmock.h>

#include <numeric>
#include <string>

#include "base/files.h"

namespace assay::shards {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

std::vector<uint32_t> Order(std::string_view name, std::vector<int64_t> units, int64_t nodes, uint64_t epoch,
                            int64_t block) {
  const ShuffleTask task{.units = units, .canonical_nodes = nodes, .seed = 9176, .epoch = epoch, .block = block};
  return *Shuffle(*ParseShuffleAlgorithm(name), task);
}

/// Of the numbers as numpy's int64 array.
std::string Digest(const std::vector<uint32_t>& order) {
  const std::vector<int64_t> wide(order.begin(), order.end());
  return Sha256Hex({reinterpret_cast<const char*>(wide.data()), wide.size() * sizeof(int64_t)}).substr(0, 16);
}

// Both tables were made by mosaicml-streaming.
struct Golden {
  std::string_view name;
  std::vector<uint32_t> order;   ///< of shards of 7, 5, 9 and 4 over 2 canonical nodes, blocks of 16
  std::string_view digest_of_0;  ///< of 37 shards of 1000 + 17 i over 4, blocks of 4096, epoch 0
  std::string_view digest_of_1;
};

const Golden kGolden[] = {
    {"naive",
     {7, 2, 8, 10, 0, 6, 5, 21, 23, 18, 1, 11, 9, 20, 22, 19, 13, 17, 14, 24, 15, 12, 3, 16, 4},
     "8c0448f100b2008b",
     "dee05146821a579c"},
    {"py1s",
     {8, 9, 7, 14, 17, 12, 15, 20, 13, 18, 19, 16, 5, 2, 0, 6, 4, 1, 3, 21, 23, 22, 24, 10, 11},
     "6fa86e06298daef5",
     "c1d7671b45946ec9"},
    {"py2s",
     {7, 11, 9, 12, 13, 14, 15, 16, 17, 18, 19, 20, 3, 4, 2, 5, 6, 0, 1, 8, 10, 21, 22, 23, 24},
     "8af55d2e2ba8ef0b",
     "415ac259d86a1dcd"},
    {"py1br",
     {9, 15, 7, 14, 16, 18, 17, 12, 19, 8, 20, 13, 0, 4, 21, 22, 6, 1, 24, 2, 5, 23, 3, 10, 11},
     "0e3a0c5dbcd4fb3b",
     "5629ebb45bfa262e"},
    {"py1e",
     {14, 17, 12, 15, 20, 9, 8, 13, 18, 19, 16, 7, 4, 21, 6, 23, 2, 0, 3, 11, 5, 1, 22, 24, 10},
     "133beef22fdb3217",
     "fc03e577232eab69"},
};

TEST(Shuffle, OrdersAFewSamplesAsStreamingDoes) {
  for (const Golden& golden : kGolden) {
    EXPECT_THAT(Order(golden.name, {7, 5, 9, 4}, 2, 0, 16), ElementsAreArray(golden.order)) << golden.name;
  }
}

TEST(Shuffle, OrdersManySamplesAsStreamingDoes) {
  std::vector<int64_t> units(37);
  for (size_t i = 0; i < units.size(); ++i) {
    units[i] = 1000 + 17 * static_cast<int64_t>(i);
  }
  for (const Golden& golden : kGolden) {
    EXPECT_EQ(Digest(Order(golden.name, units, 4, 0, 4096)), golden.digest_of_0) << golden.name;
    EXPECT_EQ(Digest(Order(golden.name, units, 4, 1, 4096)), golden.digest_of_1) << golden.name;
  }
}

TEST(Shuffle, SettlesPlacesInManySteps) {
  // So many samples a block that py1e sorts what it holds several times: each sample comes once, within its range.
  constexpr int64_t kBlock = 1 << 15;
  const std::vector<int64_t> units(400, 1000);
  std::vector<uint32_t> order = Order("py1e", units, 1, 0, kBlock);
  std::vector<uint32_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> all(400'000);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(sorted, all);
  EXPECT_EQ(Digest(order), "db50976d69f37781");
}

TEST(Shuffle, RefusesWhatNumpyWouldNotDraw) {
  const std::vector<int64_t> units = {3, 2};
  const auto refusal = [&](ShuffleAlgorithm algorithm, int64_t nodes, int64_t block) {
    return Shuffle(algorithm, {.units = units, .canonical_nodes = nodes, .block = block}).status().message();
  };
  EXPECT_THAT(refusal(ShuffleAlgorithm::kPy1e, 1, 0), HasSubstr("the shuffle block is 0"));
  EXPECT_THAT(refusal(ShuffleAlgorithm::kPy1br, 1, 1), HasSubstr("py1br takes 2 samples and more"));
  EXPECT_THAT(refusal(ShuffleAlgorithm::kPy1e, 6, 16), HasSubstr("5 samples are fewer than the 6 canonical nodes"));
  EXPECT_THAT(ParseShuffleAlgorithm("py3").status().message(), HasSubstr("naive, py1s, py1br, py1e, py2s"));
  const std::vector<int64_t> huge = {kMostSamples, 1};
  EXPECT_THAT(Shuffle(ShuffleAlgorithm::kNaive, {.units = huge}).status().message(), HasSubstr("more than 4294967295"));
}

}  // namespace
}  // namespace assay::shards
