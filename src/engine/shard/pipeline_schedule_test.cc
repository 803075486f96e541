#include "engine/shard/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace assay::engine {
namespace {

/// "F0 F1 B0 B1"
std::string turns_of(int64_t stage, int64_t stages, int64_t micro_batches) {
  std::string text;
  for (const PipelineTurn& turn : one_forward_one_backward(stage, stages, micro_batches)) {
    text += text.empty() ? "" : " ";
    text += turn.kind == PipelineTurn::Kind::kForward ? 'F' : 'B';
    text += std::to_string(turn.micro_batch);
  }
  return text;
}

TEST(PipelineSchedule, EarlierStagesRunForwardsAhead) {
  EXPECT_EQ(turns_of(0, 3, 4), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(turns_of(1, 3, 4), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(turns_of(2, 3, 4), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(PipelineSchedule, OneStageAccumulates) {
  EXPECT_EQ(turns_of(0, 1, 3), "F0 B0 F1 B1 F2 B2");
}

TEST(PipelineSchedule, FewerMicroBatchesThanStages) {
  EXPECT_EQ(turns_of(0, 4, 2), "F0 F1 B0 B1");
  EXPECT_EQ(turns_of(2, 4, 2), "F0 F1 B0 B1");
  EXPECT_EQ(turns_of(3, 4, 2), "F0 B0 F1 B1");
}

TEST(PipelineSchedule, NeverHoldsMoreThanItSays) {
  for (int64_t stages = 1; stages <= 5; ++stages) {
    for (int64_t stage = 0; stage < stages; ++stage) {
      for (int64_t micro_batches = 1; micro_batches <= 7; ++micro_batches) {
        int64_t held = 0;
        int64_t most = 0;
        for (const PipelineTurn& turn : one_forward_one_backward(stage, stages, micro_batches)) {
          held += turn.kind == PipelineTurn::Kind::kForward ? 1 : -1;
          most = std::max(most, held);
        }
        EXPECT_EQ(held, 0);
        EXPECT_EQ(most, micro_batches_in_flight(stage, stages, micro_batches));
      }
    }
  }
}

TEST(PipelineSchedule, LayersThatDoNotDivideGoToTheMiddle) {
  EXPECT_EQ(layers_of_stage(12, 1, 2), (StageLayers{6, 6}));
  EXPECT_EQ(layers_of_stage(14, 0, 4), (StageLayers{0, 3}));
  EXPECT_EQ(layers_of_stage(14, 1, 4), (StageLayers{3, 4}));
  EXPECT_EQ(layers_of_stage(14, 2, 4), (StageLayers{7, 4}));
  EXPECT_EQ(layers_of_stage(14, 3, 4), (StageLayers{11, 3}));
}

}  // namespace
}  // namespace assay::engine
