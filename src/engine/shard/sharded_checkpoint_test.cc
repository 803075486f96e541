#include "engine/shard/sharded_checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/model/status_error.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard/test_training.h"

namespace assay::engine {
namespace {

using testing::Course;
using ::testing::HasSubstr;
using testing::Setting;
using ::testing::ThrowsMessage;
using testing::train_alone;
using testing::train_sharded;

struct Placed {
  std::string strategy;
  int ranks;
};

ShardPolicy exact(const std::string& strategy) {
  return with_precision(testing::small_policy(strategy), "fp32");
}

std::vector<Placed> placements() {
  std::vector<Placed> all;
  for (const char* strategy : {"torch_ddp", "low_level_zero", "gemini", "FULL_SHARD", "HYBRID_SHARD"}) {
    for (const int ranks : {1, 2, 4}) {
      if (exact(strategy).split != SplitOver::kGroup || ranks == 4) {
        all.push_back({strategy, ranks});
      }
    }
  }
  return all;
}

class ShardedCheckpoint : public ::testing::Test {
 protected:
  TemporaryDirectory folder_ = std::move(TemporaryDirectory::Create("checkpoint")).value();
};

TEST_F(ShardedCheckpoint, GoesOnInEveryStrategyAndNumberOfRanks) {
  const Setting whole{.model = {.layers = 2, .unused = true}, .steps = 3};
  const Course want = train_alone(whole);
  for (const Placed& writer : placements()) {
    const std::string folder = fmt::format("{}/{}-{}", folder_.path(), writer.strategy, writer.ranks);
    Setting first = whole;
    first.steps = 2;
    first.save_to = folder;
    train_sharded(writer.ranks, exact(writer.strategy), first);
    for (const Placed& reader : placements()) {
      SCOPED_TRACE(fmt::format("{} on {} to {} on {}", writer.strategy, writer.ranks, reader.strategy, reader.ranks));
      Setting rest = whole;
      rest.first_step = 2;
      rest.model.seed = 99;
      rest.load_from = folder;
      Course expected = want;
      expected.losses.erase(expected.losses.begin(), expected.losses.begin() + 2);
      expected.norms.erase(expected.norms.begin(), expected.norms.begin() + 2);
      testing::expect_same_course(train_sharded(reader.ranks, exact(reader.strategy), rest), expected);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_F(ShardedCheckpoint, HoldsFrozenWeightsThatEveryRankKeepsWhole) {
  const Setting whole{.model = {.layers = 2, .frozen = true}, .steps = 2};
  Course want = train_alone(whole);
  want.losses.erase(want.losses.begin());
  want.norms.erase(want.norms.begin());
  const std::vector<Placed> all = {{"torch_ddp", 1}, {"torch_ddp", 2}, {"FULL_SHARD", 2}};
  for (const Placed& writer : all) {
    const std::string folder = fmt::format("{}/{}-{}", folder_.path(), writer.strategy, writer.ranks);
    Setting first = whole;
    first.steps = 1;
    first.save_to = folder;
    train_sharded(writer.ranks, exact(writer.strategy), first);
    for (const Placed& reader : all) {
      SCOPED_TRACE(fmt::format("{} on {} to {} on {}", writer.strategy, writer.ranks, reader.strategy, reader.ranks));
      Setting rest = whole;
      rest.first_step = 1;
      rest.model.seed = 99;
      rest.load_from = folder;
      testing::expect_same_course(train_sharded(reader.ranks, exact(reader.strategy), rest), want);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_F(ShardedCheckpoint, NamesAParameterOfAnotherShape) {
  train_sharded(1, exact("FULL_SHARD"), {.steps = 1, .save_to = folder_.path()});
  const Setting other{.model = {.vocabulary = 38}, .steps = 1, .load_from = folder_.path()};
  EXPECT_THAT([&] { train_sharded(1, exact("FULL_SHARD"), other); },
              ThrowsMessage<StatusError>(HasSubstr("parameter 'embedding.weight' has the shape [37,24] there")));
}

TEST_F(ShardedCheckpoint, PartsOfAModelAreRefusedAndNothingIsWritten) {
  const auto group = make_thread_group(2);
  const auto errors = testing::run_ranks_to_end(group, [&](Communicator& world) {
    testing::TestModel model({});
    ShardEngine engine(model, exact("torch_ddp"), {.model = &world}, testing::kOptimizer);
    save_sharded(engine, folder_.path() + "/parts");
  });
  for (const std::exception_ptr& error : errors) {
    EXPECT_THAT([&] { std::rethrow_exception(error); }, ThrowsMessage<StatusError>(HasSubstr("tensor ranks")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/parts"));
}

TEST_F(ShardedCheckpoint, ASaveThatFailsHalfwayLeavesNothingThatLooksWhole) {
  train_sharded(2, exact("FULL_SHARD"), {.steps = 1, .save_to = folder_.path()});
  const std::string second = folder_.path() + "/rank-00001.safetensors";
  std::filesystem::remove(second);
  std::filesystem::create_directories(second + "/in the way");
  EXPECT_THROW(train_sharded(2, exact("FULL_SHARD"), {.steps = 2, .save_to = folder_.path()}), std::runtime_error);
  EXPECT_THAT([&] { train_sharded(1, exact("FULL_SHARD"), {.steps = 1, .load_from = folder_.path()}); },
              ThrowsMessage<StatusError>(HasSubstr("index.json")));
}

/// Counts the collectives of a rank.
class CallCounter : public CallObserver {
 public:
  void on_run(const CallSpan& /*span*/) override {}
  void on_wait(const CallSpan& /*span*/) override { ++calls; }
  std::atomic<int> calls = 0;
};

TEST_F(ShardedCheckpoint, RanksGoOnMeetingWhileOneReads) {
  constexpr int kMeetings = 3;
  train_sharded(2, exact("FULL_SHARD"), {.steps = 1, .save_to = folder_.path() + "/saved"});
  // The second rank's index is a pipe, which is filled after the first rank has met it a few times.
  const std::string slow = folder_.path() + "/slow";
  std::filesystem::create_directory(slow);
  for (const char* name : {"rank-00000.safetensors", "rank-00001.safetensors"}) {
    std::filesystem::copy(folder_.path() + "/saved/" + name, slow);
  }
  ASSERT_EQ(::mkfifo((slow + "/index.json").c_str(), 0600), 0);
  const auto counter = std::make_shared<CallCounter>();
  int met = 0;
  std::thread filler([&] {
    std::ofstream pipe(slow + "/index.json");
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (counter->calls < kMeetings && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::yield();
    }
    met = counter->calls;
    pipe << ReadFile(folder_.path() + "/saved/index.json").value();
  });
  const auto group = make_thread_group(2);
  testing::run_ranks(group, [&](Communicator& world) {
    testing::TestModel model({});
    testing::RankGroups groups(world, SplitOver::kAll);
    ShardEngine engine(model, exact("FULL_SHARD"), groups.groups, testing::kOptimizer);
    if (world.rank() == 0) {
      groups.groups.shard->set_observer(counter);
    }
    load_sharded(engine, world.rank() == 0 ? folder_.path() + "/saved" : slow);
    groups.groups.shard->set_observer(nullptr);
  });
  filler.join();
  EXPECT_GE(met, kMeetings);
}

TEST_F(ShardedCheckpoint, NamesAFolderWithoutIndex) {
  EXPECT_THAT([&] { train_sharded(1, exact("FULL_SHARD"), {.steps = 1, .load_from = folder_.path()}); },
              ThrowsMessage<StatusError>(HasSubstr("index.json")));
}

TEST_F(ShardedCheckpoint, NamesARankFileThatIsGone) {
  train_sharded(2, exact("FULL_SHARD"), {.steps = 1, .save_to = folder_.path()});
  std::filesystem::remove(folder_.path() + "/rank-00001.safetensors");
  EXPECT_THAT([&] { train_sharded(1, exact("FULL_SHARD"), {.steps = 2, .load_from = folder_.path()}); },
              ThrowsMessage<StatusError>(HasSubstr("rank-00001.safetensors")));
}

}  // namespace
}  // namespace assay::engine
