#include "engine/kernels/memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

class Memory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { InstallCountingAllocator(); }
  void TearDown() override { SetMemoryBudget(0); }
};

TEST_F(Memory, CountsLiveBytesExactlyAndReturnsToTheBase) {
  const int64_t base = LiveTensorBytes();
  {
    const at::Tensor small = at::empty({10}, at::kFloat);
    const at::Tensor large = at::empty({3 << 20}, at::kFloat);
    EXPECT_EQ(LiveTensorBytes() - base, 40 + (12 << 20));
  }
  EXPECT_EQ(LiveTensorBytes(), base);
}

TEST_F(Memory, PeakIsTheHighestSinceTheReset) {
  ResetPeakTensorBytes();
  const int64_t base = LiveTensorBytes();
  {
    const at::Tensor block = at::empty({1 << 20}, at::kByte);
  }
  EXPECT_EQ(PeakTensorBytes() - base, 1 << 20);
  ResetPeakTensorBytes();
  EXPECT_EQ(PeakTensorBytes(), base);
  EXPECT_EQ(PeakReservedBytes(), 0) << "it is of GPUs";
}

TEST_F(Memory, BlocksAreAlignedToCacheLines) {
  for (const int64_t bytes : {1, 100, 32 << 10, (32 << 10) + 1, 16 << 20}) {
    const at::Tensor block = at::empty({bytes}, at::kByte);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.const_data_ptr()) % 64, 0U) << bytes;
  }
}

TEST_F(Memory, BeyondTheBudgetIsOutOfMemoryAndWorkGoesOn) {
  const at::Tensor before = at::empty({1 << 20}, at::kByte);
  const int64_t base = LiveTensorBytes();
  SetMemoryBudget(base + (4 << 20));
  EXPECT_THROW(at::empty({5 << 20}, at::kByte), c10::OutOfMemoryError);
  EXPECT_EQ(LiveTensorBytes(), base);
  {
    const at::Tensor fits = at::empty({3 << 20}, at::kByte);
  }
  SetMemoryBudget(0);
  EXPECT_NO_THROW(at::empty({5 << 20}, at::kByte));
  EXPECT_EQ(LiveTensorBytes(), base);
}

TEST_F(Memory, BudgetAlsoStopsAStepInTheMiddleAndLeavesNothingBehind) {
  at::Tensor weight = at::randn({512, 512}, at::kBFloat16).set_requires_grad(true);
  const at::Tensor x = at::randn({1024, 512}, at::kBFloat16);
  const auto step = [&] { engine::linear(swiglu(engine::linear(x, weight, {}), x), weight, {}).sum().backward(); };
  step();
  weight.mutable_grad() = at::Tensor();
  const int64_t base = LiveTensorBytes();
  SetMemoryBudget(base + (5 << 19));
  EXPECT_THROW(step(), c10::OutOfMemoryError);
  weight.mutable_grad() = at::Tensor();
  EXPECT_EQ(LiveTensorBytes(), base);
  SetMemoryBudget(0);
  EXPECT_NO_THROW(step());
}

TEST_F(Memory, ManyThreadsAllocateAtOnce) {
  const int64_t base = LiveTensorBytes();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::vector<at::Tensor> kept(8);
      for (int i = 0; i < 2000; ++i) {
        kept[i % 8] = at::empty({(int64_t{1} << (i % 20)) + t}, at::kByte);
        kept[i % 8].fill_(t);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(LiveTensorBytes(), base);
}

}  // namespace
}  // namespace assay::engine
