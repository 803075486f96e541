// Checkpoints of trainings over ranks, in every strategy: written by some, gone on with by others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "engine/checkpoint/read_training.h"
#include "engine/checkpoint/testing.h"
#include "engine/checkpoint/training_saver.h"
#include "engine/comm/base_communicator.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/model/status_error.h"
#include "engine/shard/patient_work.h"
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
  int expert_ranks = 1;
};

ShardPolicy exact(const Placed& where) {
  return with_precision(testing::small_policy(where.strategy), "fp32");
}

std::vector<Placed> placements() {
  std::vector<Placed> all;
  for (const char* strategy : {"torch_ddp", "low_level_zero", "gemini", "FULL_SHARD", "HYBRID_SHARD"}) {
    for (const int ranks : {1, 2, 4}) {
      if (exact({strategy, ranks}).split != SplitOver::kGroup || ranks == 4) {
        all.push_back({strategy, ranks});
      }
    }
  }
  return all;
}

class TrainingOverRanks : public ::testing::Test {
 protected:
  /// Saves after the last step.
  static void save_after(Setting& setting, const RunFolder& folder) {
    setting.after = [&folder](ShardEngine& engine, Communicator& world) {
      TrainingSaver saver(folder, testing::ranks_of(&world), {});
      saver.begin({.position = {.step = 1, .counted = 1}}, held_by(engine, {}));
      saver.finish();
    };
  }
  /// Goes on from there before the first.
  static void read_before(Setting& setting, const RunFolder& folder) {
    setting.before = [&folder](ShardEngine& engine, Communicator& world) {
      const std::vector<HeldState> held = held_by(engine, {});
      run_patiently(world, c10::kCPU, "read", [&] { read_training(folder.place_of(1), {}, held); });
      engine.publish_masters();
    };
  }

  /// A course of `whole` that each writer begins and each reader ends is that of `want`, which never stopped.
  void expect_goes_on(const Setting& whole, int64_t stop, const Course& want, const std::vector<Placed>& places,
                      bool differs = false) {
    Course rest_of_want = want;
    rest_of_want.losses.erase(rest_of_want.losses.begin(), rest_of_want.losses.begin() + stop);
    rest_of_want.norms.erase(rest_of_want.norms.begin(), rest_of_want.norms.begin() + stop);
    const auto policy_of = [&](const Placed& where) {
      ShardPolicy policy = exact(where);
      policy.ranks_differ_in_use = differs;
      return policy;
    };
    for (const Placed& writer : places) {
      const RunFolder folder(
          fmt::format("{}/{}-{}-{}", directory_.path(), writer.strategy, writer.ranks, writer.expert_ranks));
      Setting first = whole;
      first.steps = stop;
      first.expert_ranks = writer.expert_ranks;
      save_after(first, folder);
      train_sharded(writer.ranks, policy_of(writer), first);
      for (const Placed& reader : places) {
        SCOPED_TRACE(fmt::format("{} on {} to {} on {} over {}", writer.strategy, writer.ranks, reader.strategy,
                                 reader.ranks, reader.expert_ranks));
        Setting rest = whole;
        rest.first_step = stop;
        rest.model.seed = 99;
        rest.expert_ranks = reader.expert_ranks;
        read_before(rest, folder);
        testing::expect_same_course(train_sharded(reader.ranks, policy_of(reader), rest), rest_of_want);
        ASSERT_FALSE(HasFailure());
      }
    }
  }

  TemporaryDirectory directory_ = std::move(TemporaryDirectory::Create("ranks")).value();
};

TEST_F(TrainingOverRanks, GoesOnInEveryStrategyAndNumberOfRanks) {
  const Setting whole{.model = {.layers = 2, .unused = true}, .steps = 3};
  expect_goes_on(whole, 2, train_alone(whole), placements());
}

TEST_F(TrainingOverRanks, ExpertsGoOnDividedOtherwise) {
  const Setting whole{.model = {.layers = 2, .experts = 4}, .steps = 3, .use_differs = true};
  expect_goes_on(whole, 2, train_alone(whole),
                 {{"torch_ddp", 1, 1},
                  {"torch_ddp", 4, 2},
                  {"low_level_zero_2", 4, 2},
                  {"FULL_SHARD", 2, 1},
                  {"FULL_SHARD", 4, 4}},
                 /*differs=*/true);
}

TEST_F(TrainingOverRanks, EachRankWritesAboutAsMuch) {
  for (const char* strategy : {"torch_ddp", "FULL_SHARD"}) {
    const RunFolder folder(directory_.path() + "/" + strategy);
    Setting setting{.steps = 1};
    save_after(setting, folder);
    train_sharded(2, exact({strategy, 2}), setting);
    const auto bytes = [&](int rank) {
      return std::filesystem::file_size(fmt::format("{}/{}/step-1/__{}_0.distcp", directory_.path(), strategy, rank));
    };
    EXPECT_LT(bytes(0), 2 * bytes(1)) << strategy;
    EXPECT_LT(bytes(1), 2 * bytes(0)) << strategy;
  }
}

TEST(MostWork, IsOfTheRankWithTheMostBesideHalfOfThem) {
  constexpr int64_t kMib = 1 << 20;
  EXPECT_EQ(most_work_of({7 * kMib}), 1);
  EXPECT_EQ(most_work_of({8 * kMib, 10 * kMib}), 1.25);
  EXPECT_EQ(most_work_of({90 * kMib, 90 * kMib, 90 * kMib, 630 * kMib, 630 * kMib}), 7);
  EXPECT_EQ(most_work_of({100, 1, 2000}), 1) << "so little takes no time anywhere";
  EXPECT_EQ(most_work_of({0, 0, 0, 50 * kMib}), 0) << "ranks without anything to write say nothing of the one with";
}

/// Tensors are not cut: where one is most of the model, its writer may take as much longer.
TEST_F(TrainingOverRanks, WhoWritesALargeTensorMayTakeLonger) {
  const RunFolder folder(directory_.path() + "/run");
  std::vector<MostWork> most;
  Setting setting{.model = {.layers = 1, .vocabulary = 100'000}, .steps = 1};
  setting.after = [&](ShardEngine& engine, Communicator& world) {
    CheckpointRanks ranks = testing::ranks_of(&world);
    ranks.start = [&most, start = ranks.start, is_first = ranks.is_first()](
                      const std::string& what, MostWork of_rank, bool is_beside, std::function<void()> work) {
      if (is_first && what.starts_with("write")) {
        most.push_back(of_rank);
      }
      return start(what, of_rank, is_beside, std::move(work));
    };
    TrainingSaver saver(folder, ranks, {});
    saver.begin({.position = {.step = 1, .counted = 1}}, held_by(engine, {}));
    saver.finish();
  };
  train_sharded(2, exact({"torch_ddp", 2}), setting);
  const auto bytes = [&](int rank) {
    return static_cast<double>(
        std::filesystem::file_size(fmt::format("{}/run/step-1/__{}_0.distcp", directory_.path(), rank)));
  };
  ASSERT_EQ(most.size(), 1U);
  EXPECT_GT(most[0], 1.5);
  EXPECT_NEAR(most[0], std::max(bytes(0), bytes(1)) / std::min(bytes(0), bytes(1)), 0.01);
}

TEST_F(TrainingOverRanks, ARankThatCannotWriteLeavesNothingThatIsOffered) {
  const RunFolder folder(directory_.path() + "/run");
  Setting setting{.steps = 1};
  setting.after = [&folder](ShardEngine& engine, Communicator& world) {
    CheckpointRanks ranks = testing::ranks_of(&world);
    ranks.start = [start = ranks.start, fails = world.rank() == 1](const std::string& what, MostWork most,
                                                                   bool is_beside, std::function<void()> work) {
      const auto fail = [] { throw StatusError(Status::Io("no space left on device")); };
      return start(what, most, is_beside,
                   fails && what.starts_with("write") ? std::function<void()>(fail) : std::move(work));
    };
    TrainingSaver saver(folder, ranks, {});
    saver.begin({.position = {.step = 1, .counted = 1}}, held_by(engine, {}));
    saver.finish();
  };
  EXPECT_THROW(train_sharded(2, exact({"FULL_SHARD", 2}), setting), std::runtime_error);
  EXPECT_FALSE(folder.look().last_step());
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/run/step-1/__0_0.distcp"));
}

/// Tells of each collective of its group when that is over.
class TellingCommunicator final : public BaseCommunicator {
 public:
  TellingCommunicator(Communicator& inner, std::function<void(const std::string& label)> tell)
      : BaseCommunicator(inner.rank(), inner.size()), inner_(inner), tell_(std::move(tell)) {}

  std::string_view backend() const override { return inner_.backend(); }
  std::unique_ptr<Communicator> split(const std::vector<int>& members, std::string_view name) override {
    return inner_.split(members, name);
  }

 protected:
  WorkPtr start(Call call) override {
    WorkPtr work = call.kind == CallKind::kAllGather ? inner_.all_gather(call.full, call.shard, call.label)
                                                     : inner_.all_reduce(call.full, call.op, call.label);
    work->wait();
    tell_(call.label);
    return work;
  }

 private:
  Communicator& inner_;
  const std::function<void(const std::string&)> tell_;
};

TEST_F(TrainingOverRanks, ARankThatIsLostOnceItsFilesAreKnownLeavesThem) {
  const RunFolder folder(directory_.path() + "/run");
  Setting setting{.steps = 1};
  setting.after = [&](ShardEngine& engine, Communicator& world) {
    int gathered = 0;
    TellingCommunicator telling(world, [&](const std::string& label) {
      // How long the texts are goes before the texts.
      if (world.rank() != 1 || label != "what all ranks wrote" || ++gathered < 2) {
        return;
      }
      while (!std::filesystem::exists(directory_.path() + "/run/step-1/.metadata")) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      throw CommError("the connection to rank 0 was reset");
    });
    TrainingSaver saver(folder, testing::ranks_of(&telling), {});
    saver.begin({.position = {.step = 1, .counted = 1}}, held_by(engine, {}));
    try {
      saver.finish();
    } catch (const CommError& error) {
      world.give_up(error.what());
      throw;
    }
  };
  EXPECT_THROW(train_sharded(2, exact({"FULL_SHARD", 2}), setting), CommError);
  EXPECT_EQ(folder.look().last_step(), 1) << "the first rank has published it";
}

TEST_F(TrainingOverRanks, NamesARankFileThatIsGone) {
  const RunFolder folder(directory_.path() + "/run");
  Setting first{.steps = 1};
  save_after(first, folder);
  train_sharded(2, exact({"FULL_SHARD", 2}), first);
  std::filesystem::remove(directory_.path() + "/run/step-1/__1_0.distcp");
  Setting rest{.first_step = 1, .steps = 2};
  read_before(rest, folder);
  EXPECT_THAT([&] { train_sharded(1, exact({"FULL_SHARD", 1}), rest); },
              ThrowsMessage<StatusError>(HasSubstr("__1_0.distcp")));
}

}  // namespace
}  // namespace assay::engine
