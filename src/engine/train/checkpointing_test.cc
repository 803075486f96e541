#include "engine/train/checkpointing.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace assay::engine {
namespace {

/// Ten layers that keep 100 bytes each, 10 when checkpointed.
StepNeed ten_layers() {
  return {.activations = {.layer_bytes = std::vector<int64_t>(10, 100),
                          .checkpointed_layer_bytes = 10,
                          .working_bytes = 30,
                          .loss_bytes = 50},
          .gradient_bytes = 200};
}

TEST(CheckpointingTest, AStepPeaksAtTheLossOrAtTheEndOfBackward) {
  EXPECT_EQ(step_bytes(ten_layers(), 0), 10 * 100 + 50);
  EXPECT_EQ(step_bytes(ten_layers(), 4), 6 * 100 + 4 * 10 + 50);
  EXPECT_EQ(step_bytes(ten_layers(), 10), 200 + 100 + 30) << "all gradients and one layer";
  StepNeed accumulating = ten_layers();
  accumulating.accumulates = true;
  EXPECT_EQ(step_bytes(accumulating, 0), 10 * 100 + 50 + 200);
}

TEST(CheckpointingTest, TakesTheFewestLayersThatFit) {
  EXPECT_EQ(fewest_checkpointed_layers(ten_layers(), 2000), 0);
  EXPECT_EQ(fewest_checkpointed_layers(ten_layers(), 10 * 100 + 50), 0);
  EXPECT_EQ(fewest_checkpointed_layers(ten_layers(), 10 * 100 + 49), 1);
  EXPECT_EQ(fewest_checkpointed_layers(ten_layers(), 600), 5);
  EXPECT_EQ(fewest_checkpointed_layers(ten_layers(), 10), 10) << "all, though it does not fit";
}

TEST(CheckpointingTest, LayersNeedNotBeAlike) {
  StepNeed need = ten_layers();
  need.activations.layer_bytes = {10, 10, 500, 10, 20};
  EXPECT_EQ(step_bytes(need, 0), 200 + 500 + 30) << "at the end of backward: all gradients and the largest layer";
  need.gradient_bytes = 0;
  EXPECT_EQ(step_bytes(need, 0), 550 + 50);
  EXPECT_EQ(step_bytes(need, 2), 20 + 530 + 50) << "what is left are not two layers less of the mean";
  EXPECT_EQ(fewest_checkpointed_layers(need, 599), 3);
  const ActivationCost twice = need.activations.in_flight(2);
  EXPECT_EQ(twice.kept_bytes(3), 2 * need.activations.kept_bytes(3));
  EXPECT_EQ(twice.working_bytes, need.activations.working_bytes);
}

TEST(CheckpointingTest, FindsTheLargestMicroBatch) {
  const auto folder = TemporaryDirectory::Create("checkpointing_test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/rows.tok";
  std::vector<data::TokenRow> rows;
  for (const size_t length : {3, 9, 2, 2, 7}) {
    rows.push_back({.ids = std::vector<int32_t>(length, 1), .labels = std::vector<int32_t>(length, 1)});
  }
  ASSERT_TRUE(data::WriteTokenFile(path, rows, 10).ok());
  const auto file = data::TokenFile::Open(path);
  ASSERT_TRUE(file.ok());
  job::TunePlan plan;
  plan.batch_size = 2;
  EXPECT_EQ(most_tokens(*file, plan), 12);
  plan.shuffle = true;
  EXPECT_EQ(most_tokens(*file, plan), 16);
  plan.batch_size = 100;
  EXPECT_EQ(most_tokens(*file, plan), 23);
  plan.shuffle = false;
  plan.batch_size = 2;
  plan.model_max_length = 4;
  EXPECT_EQ(most_tokens(*file, plan), 7);
  EXPECT_EQ(longest_row(*file, plan), 4);
  plan.method = "prompt";
  plan.prompt.length = 8;
  EXPECT_EQ(most_tokens(*file, plan), 7 + 2 * 8);
  EXPECT_EQ(longest_row(*file, plan), 4 + 8);
}

}  // namespace
}  // namespace assay::engine
