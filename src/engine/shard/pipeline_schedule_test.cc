#include "engine/shard/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

/// The messages of a pair of stages that share one order: those that each of the two has called and that the other has
/// not met yet.
struct PairQueue {
  std::deque<bool> sends[2];  ///< by side: whether the call is a send

  /// Meets what stands opposite; whether there was anything.
  bool advance() {
    bool met = false;
    while (!sends[0].empty() && !sends[1].empty() && sends[0].front() != sends[1].front()) {
      sends[0].pop_front();
      sends[1].pop_front();
      met = true;
    }
    return met;
  }
};

struct Message {
  int64_t pair;  ///< of the stages pair and pair + 1
  int64_t queue;
  bool is_send;
};

std::vector<Message> messages_of(int64_t stage, int64_t stages, int64_t micro_batches, int64_t gradient_queue) {
  std::vector<Message> messages;
  for (const PipelineTurn& turn : one_forward_one_backward(stage, stages, micro_batches)) {
    const bool forward = turn.kind == PipelineTurn::Kind::kForward;
    const int64_t from = forward ? stage - 1 : stage + 1;
    const int64_t to = forward ? stage + 1 : stage - 1;
    const int64_t queue = forward ? 0 : gradient_queue;
    if (from >= 0 && from < stages) {
      messages.push_back({std::min(from, stage), queue, false});
    }
    if (to >= 0 && to < stages) {
      messages.push_back({std::min(to, stage), queue, true});
    }
  }
  return messages;
}

/// Whether every stage comes to its end where, as in NCCL, the calls of a pair in one group are met in the order in
/// which they were made, and only a receiver waits for its own.
bool comes_to_its_end(int64_t stages, int64_t micro_batches, int64_t gradient_queue) {
  std::map<std::pair<int64_t, int64_t>, PairQueue> queues;
  std::vector<std::vector<Message>> messages;
  std::vector<size_t> next(stages);
  std::vector<bool> waits(stages);
  for (int64_t stage = 0; stage < stages; ++stage) {
    messages.push_back(messages_of(stage, stages, micro_batches, gradient_queue));
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t stage = 0; stage < stages; ++stage) {
      while (next[stage] < messages[stage].size()) {
        const Message& message = messages[stage][next[stage]];
        PairQueue& queue = queues[{message.pair, message.queue}];
        std::deque<bool>& own = queue.sends[stage - message.pair];
        if (!waits[stage]) {
          own.push_back(message.is_send);
          moved = true;
        }
        moved = queue.advance() || moved;
        waits[stage] = !message.is_send && !own.empty();
        if (waits[stage]) {
          break;
        }
        ++next[stage];
      }
    }
  }
  for (int64_t stage = 0; stage < stages; ++stage) {
    if (next[stage] < messages[stage].size()) {
      return false;
    }
  }
  return std::ranges::all_of(
      queues, [](const auto& entry) { return entry.second.sends[0].empty() && entry.second.sends[1].empty(); });
}

TEST(PipelineSchedule, GradientsInAGroupOfTheirOwnNeverHoldActivationsUp) {
  EXPECT_FALSE(comes_to_its_end(2, 4, /*gradient_queue=*/0));
  for (int64_t stages = 2; stages <= 5; ++stages) {
    for (int64_t micro_batches = 1; micro_batches <= 8; ++micro_batches) {
      EXPECT_TRUE(comes_to_its_end(stages, micro_batches, /*gradient_queue=*/1)) << stages << " " << micro_batches;
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
