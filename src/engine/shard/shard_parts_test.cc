#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "engine/shard/flat_buffer.h"
#include "engine/shard/flat_gradients.h"
#include "engine/shard/flat_layout.h"
#include "engine/shard/memory_ledger.h"
#include "engine/shard/policy.h"

namespace assay::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

at::Tensor allocate(int64_t elements, at::ScalarType dtype) {
  return at::empty({elements}, dtype);
}

TEST(FlatLayout, EveryElementIsInOneSliceOfOneRank) {
  for (const int64_t ranks : {1, 2, 3, 4, 7}) {
    const FlatLayout layout({{"a", {3, 5}}, {"b", {100}}, {"c", {}}, {"d", {64, 2}}}, ranks);
    EXPECT_EQ(layout.elements() % ranks, 0);
    std::vector<int64_t> seen(layout.parameters().size());
    for (int64_t rank = 0; rank < ranks; ++rank) {
      for (const ShardSlice& slice : layout.slices(rank)) {
        const FlatParameter& p = layout.parameters()[slice.parameter];
        EXPECT_EQ(rank * layout.shard_elements() + slice.in_shard, p.offset + slice.in_parameter);
        EXPECT_EQ(slice.in_parameter, seen[slice.parameter]);
        seen[slice.parameter] += slice.elements;
      }
    }
    EXPECT_THAT(seen, ::testing::ElementsAre(15, 100, 1, 128)) << ranks;
  }
}

TEST(FlatLayout, ParametersAndGapsFillTheBuffer) {
  const FlatLayout layout({{"a", {3, 5}}, {"b", {32}}, {"c", {1}}}, 2);
  std::vector<int> covered(layout.elements());
  for (const FlatParameter& p : layout.parameters()) {
    EXPECT_EQ(p.offset % 32, 0);
    for (int64_t i = 0; i < p.elements; ++i) {
      ++covered[p.offset + i];
    }
  }
  for (const FlatLayout::Gap& gap : layout.gaps()) {
    for (int64_t i = 0; i < gap.elements; ++i) {
      ++covered[gap.offset + i];
    }
  }
  EXPECT_THAT(covered, ::testing::Each(1));
}

TEST(FlatBuffer, ViewsFollowTheMemory) {
  MemoryLedger ledger;
  FlatBuffer buffer(allocate, 64, at::kFloat, MemoryKind::kParameters, ledger);
  const at::Tensor view = buffer.view(8, {2, 3});
  const at::Tensor detached = view.detach();
  const auto version = view._version();
  EXPECT_EQ(ledger.live_total(), 256);
  buffer.release();
  EXPECT_EQ(ledger.live_total(), 0);
  buffer.allocate();
  buffer.flat().copy_(at::arange(64));
  EXPECT_TRUE(at::equal(view, at::arange(8, 14, at::kFloat).view({2, 3})));
  EXPECT_TRUE(at::equal(detached, view));
  EXPECT_EQ(view._version(), version) << "what the engine writes is no in-place change to autograd";
  EXPECT_EQ(ledger.peak().total, 256);
}

TEST(FlatGradients, ALateGradientIsAnErrorAndNoPartOfAReduction) {
  ShardContext context;
  context.allocate = allocate;
  const FlatLayout layout({{"a", {3}}, {"b", {2}}}, 1);
  FlatGradients gradients(context, {}, layout, at::kFloat, "unit", false);
  gradients.put_into(allocate(layout.elements(), at::kFloat));
  gradients.open();
  gradients.add(0, at::ones({3}));
  gradients.close();
  EXPECT_THAT([&] { gradients.add(1, at::ones({2})); },
              ThrowsMessage<std::logic_error>(HasSubstr("a gradient of 'b' came after the reduction")));
  gradients.open();
  gradients.add(1, at::ones({2}));
}

TEST(MemoryLedger, KeepsTheKindsOfItsPeakAndLeavesHostMemoryOut) {
  MemoryLedger ledger;
  ledger.add(MemoryKind::kParameters, 100);
  ledger.add(MemoryKind::kGradients, 50);
  ledger.add(MemoryKind::kGradients, -50);
  ledger.add(MemoryKind::kMoments, 20);
  ledger.add(MemoryKind::kOffloaded, 1000);
  EXPECT_EQ(ledger.peak().total, 150);
  EXPECT_EQ(ledger.peak().by_kind[static_cast<size_t>(MemoryKind::kGradients)], 50);
  EXPECT_EQ(ledger.peak(true).total, 1120) << "with what is offloaded the peak was at another time";
  EXPECT_EQ(ledger.peak(true).by_kind[static_cast<size_t>(MemoryKind::kGradients)], 0);
  EXPECT_EQ(ledger.live_total(), 120);
  ledger.reset_peak();
  EXPECT_EQ(ledger.peak().total, 120);
  EXPECT_EQ(ledger.peak(true).total, 1120);
}

TEST(Policy, UnknownNamesAreRefusedWithTheKnownOnes) {
  EXPECT_THAT([] { shard_policy("fsdp"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("FULL_SHARD")));
  EXPECT_THAT([] { with_precision({}, "int4"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("amp_bf16")));
}

}  // namespace
}  // namespace assay::engine
