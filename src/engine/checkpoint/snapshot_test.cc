#include "engine/checkpoint/snapshot.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace assay::engine {
namespace {

/// More than a thread copies before the next line is reached, in pieces of which the last is no whole one.
constexpr int64_t kManyElements = (int64_t{4} << 20) + 3;

HeldState stretch_of(const at::Tensor& weight) {
  HeldState held;
  held.shape = {weight.numel()};
  held.part = checkpoint::WholeOf(held.shape);
  held.weight = weight;
  return held;
}

/// Pages that the program had to wait for.
int64_t faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

class SnapshotTest : public ::testing::Test {
 protected:
  Snapshot snapshot_;
  int64_t steps_ = 7;
};

TEST_F(SnapshotTest, IsOfTheStateThatStoodWhenItBegan) {
  const at::Tensor weight = at::arange(kManyElements, at::kFloat);
  std::vector<HeldState> held = {stretch_of(weight), stretch_of(at::full({5}, 2.0))};
  held[0].moments = {{"exp_avg", at::full({kManyElements}, 0.5)}};
  held[0].steps = &steps_;
  // The second time into the same memory.
  for (const double added : {0.0, 1.0}) {
    const std::vector<HeldState> copies =
        snapshot_.begin(held, {&held[0].weight, &held[0].moments[0].values, &held[1].weight});
    snapshot_.complete();
    EXPECT_TRUE(snapshot_.is_complete());
    weight.add_(1);
    held[0].moments[0].values.zero_();
    held[1].weight.zero_();
    ++steps_;
    EXPECT_TRUE(at::equal(copies[0].weight, at::arange(kManyElements, at::kFloat).add_(added)));
    EXPECT_TRUE(at::equal(copies[0].moments[0].values, at::full({kManyElements}, 0.5)));
    EXPECT_TRUE(at::equal(copies[1].weight, at::full({5}, 2.0)));
    EXPECT_EQ(*copies[0].steps, 7 + static_cast<int64_t>(added));
    held[0].moments[0].values.fill_(0.5);
    held[1].weight.fill_(2.0);
  }
}

TEST_F(SnapshotTest, MemoryIsTakenBeforehand) {
  std::vector<HeldState> held = {stretch_of(at::full({kManyElements}, 3.0)), stretch_of(at::full({5}, 2.0))};
  const std::set<const at::Tensor*> wanted = {&held[0].weight, &held[1].weight};
  snapshot_.take_memory(held, wanted);
  const int64_t before = faults();
  const std::vector<HeldState> copies = snapshot_.begin(held, wanted);
  snapshot_.complete();
  const auto pages = static_cast<int64_t>(held[0].weight.nbytes()) / ::sysconf(_SC_PAGESIZE);
  EXPECT_LT(faults() - before, pages / 2) << "as it was copied";
  EXPECT_TRUE(at::equal(copies[0].weight, held[0].weight));
  EXPECT_TRUE(at::equal(copies[1].weight, held[1].weight));
}

TEST_F(SnapshotTest, IsMadeByItselfAndGivesBackWhatItRead) {
  std::vector<HeldState> held = {stretch_of(at::full({kManyElements}, 3.0))};
  const at::Tensor weight = held[0].weight;
  const std::vector<HeldState> copies = snapshot_.begin(held, {&held[0].weight});
  held.clear();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (weight.use_count() > 1 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(weight.use_count(), 1U) << "though nobody has asked";
  EXPECT_FALSE(snapshot_.is_complete()) << "as long as nobody has asked";
  snapshot_.complete();
  EXPECT_TRUE(at::equal(copies[0].weight, weight));
}

TEST_F(SnapshotTest, AnotherBeginsWhenTheOneBeforeIsOver) {
  std::vector<HeldState> held = {stretch_of(at::full({kManyElements}, 3.0))};
  snapshot_.begin(held, {&held[0].weight});
  const std::vector<HeldState> copies = snapshot_.begin(held, {&held[0].weight});
  snapshot_.complete();
  EXPECT_TRUE(at::equal(copies[0].weight, held[0].weight));
}

TEST_F(SnapshotTest, WhatIsNotWantedStaysAsItIs) {
  std::vector<HeldState> held = {stretch_of(at::full({3}, 1.0)),
                                 stretch_of(at::empty({3}, at::TensorOptions().device(c10::kMeta)))};
  const std::vector<HeldState> copies = snapshot_.begin(held, {&held[0].weight});
  snapshot_.complete();
  EXPECT_TRUE(copies[1].weight.is_same(held[1].weight));
}

TEST_F(SnapshotTest, StretchesThatAreNotContiguousAreCopiedAtOnce) {
  const at::Tensor grid = at::arange(12, at::kFloat).view({6, 2});
  std::vector<HeldState> held = {stretch_of(grid.select(1, 1))};
  const std::vector<HeldState> copies = snapshot_.begin(held, {&held[0].weight});
  grid.zero_();
  snapshot_.complete();
  EXPECT_TRUE(at::equal(copies[0].weight, at::arange(1, 13, 2, at::kFloat)));
}

}  // namespace
}  // namespace assay::engine
