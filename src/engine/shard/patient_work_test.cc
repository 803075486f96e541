#include "engine/shard/patient_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"

namespace assay::engine {
namespace {

TEST(RunPatiently, OutlastsTheDeadlineOfACollective) {
  constexpr double kDeadlineSeconds = 0.2;
  const auto group = make_thread_group(2, {.deadline_seconds = kDeadlineSeconds});
  std::atomic<int> finished = 0;
  testing::run_ranks(group, [&](Communicator& world) {
    ShardContext context;
    context.groups.shard = &world;
    run_patiently(context, [&] {
      if (world.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(3 * kDeadlineSeconds));
      }
      ++finished;
    });
    EXPECT_EQ(finished, 2) << "rank " << world.rank() << " went on before all were done";
  });
}

TEST(RunPatiently, EveryRankHearsOfAFailure) {
  const auto group = make_thread_group(2);
  const auto errors = testing::run_ranks_to_end(group, [&](Communicator& world) {
    ShardContext context;
    context.groups.replicate = &world;
    run_patiently(context, [&] {
      if (world.rank() == 1) {
        throw std::runtime_error("no space left");
      }
    });
  });
  EXPECT_THAT([&] { std::rethrow_exception(errors[0]); }, ::testing::Throws<CommError>());
  EXPECT_THAT([&] { std::rethrow_exception(errors[1]); },
              ::testing::ThrowsMessage<std::runtime_error>("no space left"));
}

}  // namespace
}  // namespace assay::engine
