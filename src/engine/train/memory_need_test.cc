#include "engine/train/memory_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/train/failure.h"

namespace assay::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kGib = int64_t{1} << 30;

/// 15 GiB on one rank, 5 of which are mapped weights.
CausalLmForecast forecast() {
  const job::MemoryLedger steady{.phase = "steady",
                                 .parameters_bytes = 5 * kGib,
                                 .gradients_bytes = 3 * kGib,
                                 .moments_bytes = 6 * kGib,
                                 .activations_bytes = kGib,
                                 .peak_bytes = 15 * kGib};
  return {{{{.phase = "init", .peak_bytes = 7 * kGib}, 2 * kGib, 5 * kGib}, {steady, 10 * kGib, 5 * kGib}}};
}

job::MemoryNeed need(int64_t ranks, int64_t free_bytes) {
  return {.ranks = ranks,
          .tensor_bytes = ranks * 10 * kGib,
          .mapped_bytes = 5 * kGib,
          .free_bytes = free_bytes,
          .total_bytes = 64 * kGib};
}

TEST(MemoryNeed, IsThatOfThePhaseInWhichTheMachineTakesMost) {
  EXPECT_EQ(memory_need(forecast(), 1).tensor_bytes, 10 * kGib);
  EXPECT_EQ(memory_need(forecast(), 1).mapped_bytes, 5 * kGib);
  // A file that is gone once the ranks have their shards, of which each takes more later.
  const CausalLmForecast sharded = {{{{.phase = "init", .peak_bytes = 3 * kGib}, 12 * kGib, 16 * kGib},
                                     {{.phase = "steady", .peak_bytes = 4 * kGib}, 16 * kGib, 0}}};
  EXPECT_EQ(memory_need(sharded, 4).tensor_bytes, 12 * kGib);
  EXPECT_EQ(memory_need(sharded, 4).mapped_bytes, 16 * kGib);
  EXPECT_EQ(sharded.highest().ledger.phase, "steady") << "of one rank";
}

TEST(WhyItCannotFit, NamesThePartsAndWhatToDo) {
  const std::string why = why_it_cannot_fit({}, forecast(), need(1, 8 * kGib));
  EXPECT_THAT(why, AllOf(HasSubstr("this needs 15.0 GiB (weights 5.00 GiB, gradients 3.00 GiB, moments 6.00 GiB, "
                                   "activations 1.00 GiB)"),
                         HasSubstr("the machine has 8.00 GiB free of 64.0 GiB"),
                         HasSubstr("LoRA, a smaller batch, gradient checkpointing or FULL_SHARD")));
  job::TunePlan plan;
  plan.method = "lora";
  plan.gradient_checkpointing = "on";
  EXPECT_THAT(why_it_cannot_fit(plan, forecast(), need(1, 8 * kGib)),
              AllOf(Not(HasSubstr("LoRA")), Not(HasSubstr("gradient checkpointing"))));
}

TEST(WhyItCannotFit, NamesTheCopyForCheckpointsAmongThem) {
  CausalLmForecast copies = forecast();
  copies.phases[1].ledger.temporaries_bytes = 7 * kGib;
  copies.phases[1].copy_bytes = 6 * kGib;
  EXPECT_THAT(why_it_cannot_fit({}, copies, need(1, 8 * kGib)),
              AllOf(HasSubstr("the copy that checkpoints are written from 6.00 GiB, temporaries 1.00 GiB"),
                    HasSubstr("use --checkpoint-writer sync, LoRA")));
}

TEST(WhyItCannotFit, AddsUpTheRanksOfAMachineAndSharesTheirMappedWeights) {
  EXPECT_EQ(why_it_cannot_fit({}, forecast(), need(4, 45 * kGib)), "");
  EXPECT_THAT(why_it_cannot_fit({}, forecast(), need(4, 40 * kGib)),
              AllOf(HasSubstr("this needs 45.0 GiB (each of 4 ranks: "), HasSubstr("40.0 GiB free")));
}

TEST(WhyItCannotFit, ABudgetIsARanksOwn) {
  job::TunePlan plan;
  plan.number_ranks = 4;
  plan.memory_budget_bytes = 15 * kGib;
  EXPECT_EQ(why_it_cannot_fit(plan, forecast(), need(4, 60 * kGib)), "");
  plan.memory_budget_bytes = 12 * kGib;
  EXPECT_THAT(why_it_cannot_fit(plan, forecast(), need(4, 60 * kGib)),
              AllOf(HasSubstr("each rank needs 15.0 GiB"), HasSubstr("the memory budget is 12.0 GiB"),
                    HasSubstr("raise the budget")));
}

TEST(WhyItCannotFit, WhatIsForetoldTooHighByAFewPercentGetsItsChance) {
  EXPECT_EQ(why_it_cannot_fit({}, forecast(), need(1, 15 * kGib - kGib / 2)), "");
  EXPECT_NE(why_it_cannot_fit({}, forecast(), need(1, 14 * kGib)), "");
  EXPECT_EQ(why_it_cannot_fit({}, forecast(), need(1, 0)), "") << "nobody knows what is free";
}

TEST(RefuseTogether, EndsARunWithItsReason) {
  EXPECT_NO_THROW(refuse_together("", nullptr));
  try {
    refuse_together("this needs more", nullptr);
    FAIL() << "it was not refused";
  } catch (const CannotFit&) {
    const job::Ended ended = describe_failure(std::current_exception(), "load");
    EXPECT_EQ(ended.kind, job::EndKind::kOutOfMemory);
    EXPECT_EQ(ended.reason, "this needs more");
  }
}

}  // namespace
}  // namespace assay::engine
