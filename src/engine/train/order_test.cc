#include "engine/train/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace assay::engine {
namespace {

using testing::ElementsAre;

TEST(RowOrder, LastBatchAndLastWindowOfAnEpochMayBeSmaller) {
  RowOrder order({.rows = 7, .batch_size = 2, .accumulation_steps = 3});
  EXPECT_EQ(order.steps_per_epoch(), 2);
  EXPECT_THAT(order.micro_batches(1), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5)));
  EXPECT_THAT(order.micro_batches(2), ElementsAre(ElementsAre(6)));
  EXPECT_THAT(order.micro_batches(3), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5)));
}

TEST(RowOrder, ABatchLargerThanTheDataSetHoldsItOnce) {
  RowOrder order({.rows = 3, .batch_size = 8, .accumulation_steps = 4});
  EXPECT_EQ(order.steps_per_epoch(), 1);
  EXPECT_THAT(order.micro_batches(5), ElementsAre(ElementsAre(0, 1, 2)));
}

std::vector<int64_t> epoch_of(RowOrder& order, int64_t epoch) {
  std::vector<int64_t> rows;
  for (int64_t step = 1; step <= order.steps_per_epoch(); ++step) {
    for (const auto& batch : order.micro_batches(epoch * order.steps_per_epoch() + step)) {
      rows.insert(rows.end(), batch.begin(), batch.end());
    }
  }
  return rows;
}

TEST(RowOrder, ShufflesEachEpochAnewAndCompletely) {
  const OrderOptions options{.rows = 101, .batch_size = 4, .accumulation_steps = 2, .shuffle = true, .seed = 7};
  RowOrder order(options);
  const std::vector<int64_t> first = epoch_of(order, 0);
  const std::vector<int64_t> second = epoch_of(order, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(epoch_of(order, 0), first) << "the order is a function of seed and epoch, not of what was asked before";

  std::vector<int64_t> sorted = second;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t row = 0; row < options.rows; ++row) {
    EXPECT_EQ(sorted[row], row);
  }
  OrderOptions other = options;
  other.seed = 8;
  RowOrder reseeded(other);
  EXPECT_NE(epoch_of(reseeded, 0), first);
}

}  // namespace
}  // namespace assay::engine
