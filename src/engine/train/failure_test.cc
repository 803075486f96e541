#include "engine/train/failure.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <new>
#include <stdexcept>

#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using job::EndKind;
using testing::HasSubstr;
using testing::Not;

template <typename Thrower>
job::Ended failure_of(Thrower thrower) {
  try {
    thrower();
  } catch (...) {  // any exception is what is under test here
    return describe_failure(std::current_exception(), "forward of step 3");
  }
  return {};
}

TEST(DescribeFailure, UsersMistakesAreInvalid) {
  const auto ended = failure_of([] { throw StatusError(Status::NotFound("no folder /x (check the path)")); });
  EXPECT_EQ(ended.kind, EndKind::kInvalid);
  EXPECT_EQ(ended.reason, "no folder /x (check the path)");
  EXPECT_EQ(exit_code(ended.kind), 2);
}

TEST(DescribeFailure, ADivergedTrainingIsNeitherAMistakeNorAnError) {
  const auto ended = failure_of([] { throw Diverged("the loss of step 3 is nan"); });
  EXPECT_EQ(ended.kind, EndKind::kDiverged);
  EXPECT_EQ(ended.reason, "the loss of step 3 is nan");
  EXPECT_EQ(exit_code(ended.kind), 2);
}

TEST(ThrowIfDiverged, NamesTheStepAndWhatMayHelp) {
  throw_if_diverged({.step = 1, .loss = 2.5}, false, "precision fp32");
  EXPECT_EQ(failure_of([] { throw_if_diverged({.step = 3, .loss = -std::nan("")}, false, "precision fp32"); }).reason,
            "the loss of step 3 is nan: training stopped (use a smaller learning rate, or precision fp32)");
  EXPECT_EQ(failure_of([] { throw_if_diverged({.step = 4, .loss = HUGE_VAL}, false, ""); }).reason,
            "the loss of step 4 is infinite: training stopped (use a smaller learning rate)");
  EXPECT_EQ(failure_of([] { throw_if_diverged({.step = 5, .grad_norm = HUGE_VAL}, false, ""); }).reason,
            "the gradient norm of step 5 is infinite: training stopped (use a smaller learning rate)");
}

TEST(ThrowIfDiverged, AStepThatTheLossScaleSkippedIsNoDivergenceUntilNoScaleIsLeft) {
  const job::Step skipped{.step = 6, .grad_norm = std::nan(""), .loss_scale = 0x1p-16, .skipped = true};
  throw_if_diverged(skipped, false, "bfloat16");
  EXPECT_EQ(failure_of([&] { throw_if_diverged(skipped, true, "bfloat16"); }).reason,
            "the gradients of step 6 are not finite even at a loss scale of 1.5e-05: training stopped (use bfloat16)");
}

TEST(DescribeFailure, AFullDiskIsAnError) {
  const auto ended = failure_of([] { throw StatusError(Status::Io("cannot write x: No space left on device")); });
  EXPECT_EQ(ended.kind, EndKind::kError);
  EXPECT_EQ(exit_code(ended.kind), 1);
}

TEST(DescribeFailure, MemoryFailuresNameThePhase) {
  const auto budget = failure_of([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "want 10, live 5, budget 12"); });
  EXPECT_EQ(budget.kind, EndKind::kOutOfMemory);
  EXPECT_EQ(budget.reason, "out of memory in forward of step 3: want 10, live 5, budget 12");
  EXPECT_EQ(failure_of([] { throw std::bad_alloc(); }).kind, EndKind::kOutOfMemory);
  EXPECT_EQ(failure_of([] { TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: 7 bytes"); }).kind,
            EndKind::kOutOfMemory);
  for (const char* message : {"CUDA error: out of memory", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `f`"}) {
    EXPECT_EQ(failure_of([&] { throw std::runtime_error(message); }).kind, EndKind::kOutOfMemory);
  }
}

TEST(DescribeFailure, ExceptionsKeepTheirFirstLineOnly) {
  const auto ended = failure_of([] { TORCH_CHECK(false, "sizes do not match\nmore about it"); });
  EXPECT_EQ(ended.kind, EndKind::kError);
  EXPECT_EQ(ended.reason, "forward of step 3 failed: sizes do not match");
  EXPECT_THAT(ended.reason, Not(HasSubstr("frame #")));
}

}  // namespace
}  // namespace assay::engine
