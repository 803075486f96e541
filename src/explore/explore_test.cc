#include "explore/explore.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <limits>
#include <set>
#include <thread>

#include "base/subprocess.h"
#include "base/text.h"
#include "explore/exploration.h"
#include "explore/search/samplers.h"
#include "explore/space_measurements.h"
#include "explore/survey.h"
#include "explore/testing.h"
#include "samplestore/sqlite/connection.h"

namespace assay::explore {
namespace {

using samplestore::Outcome;
using ::testing::ElementsAre;
using testing::EndedRun;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ExploreTest : public testing::ExploreFixture {
 protected:
  void SetUp() override {
    ExploreFixture::SetUp();
    explore_.measure = options_;
  }

  /// Two lengths x `batch_sizes`, one experiment.
  experiment::BoundSpace Space(const std::string& batch_sizes = "1, 2", const std::string& model = "",
                               const std::string& numbers_of_gpus = "0") {
    return SpaceOf({batch_sizes, "64, 32", model, numbers_of_gpus});
  }

  ExploreSummary Run(const experiment::BoundSpace& space, const ExploreCallbacks& callbacks = {}) {
    auto summary = Explore(space, *store_, explore_, callbacks);
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    return summary.ok() ? *std::move(summary) : ExploreSummary();
  }

  /// The worker's run of each point ends as `end_of` says of its plan.
  void Answer(std::function<job::RunRecord(const job::TunePlan&)> end_of) {
    explore_.measure.runner = [this, end_of](const job::Plan& plan,
                                             const launch::LaunchOptions& launch) -> Result<job::RunRecord> {
      ++runs_;
      if (launch.on_event) {
        launch.on_event(job::Started{});
      }
      return end_of(std::get<job::TunePlan>(plan));
    };
  }

  ExploreOptions explore_;
};

TEST(LooksInTest, EndsAtTheLargestNumber) {
  EXPECT_EQ(LooksIn(4, 3), 12);
  EXPECT_EQ(LooksIn(int64_t{1} << 62, 5), std::numeric_limits<int64_t>::max());
}

TEST_F(ExploreTest, MeasuresEveryPointOnceInTheSpacesOrder) {
  std::vector<int64_t> started;
  std::vector<std::string> done;
  const ExploreSummary summary =
      Run(Space(), {.on_start = [&](const PointStart& start) { started.push_back(start.index); },
                    .on_busy = {},
                    .on_done =
                        [&](const PointDone& point) {
                          done.push_back(fmt::format("{} {}/{}", point.index, point.done, point.total));
                        },
                    .on_event = {}});
  EXPECT_EQ(summary.measured, 4);
  EXPECT_EQ(summary.remaining, 0);
  EXPECT_THAT(started, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(done, ElementsAre("0 1/4", "1 2/4", "2 3/4", "3 4/4"));
  const auto measurements = MeasurementsOf(Space(), *store_, /*with_series=*/false);
  ASSERT_TRUE(measurements.ok());
  ASSERT_THAT(*measurements, SizeIs(4));
  EXPECT_EQ((*measurements)[0].entity.at("model_max_length"), space::Value(int64_t{64}));
  EXPECT_EQ((*measurements)[1].entity.at("batch_size"), space::Value(int64_t{2}));
}

TEST_F(ExploreTest, OthersSeeInTheStoreWhatIsDone) {
  const auto reader = OpenStore();
  const auto wait_for = [&](const std::string& text) {
    for (int tries = 0; tries < 30'000; ++tries) {
      const auto rows = reader->ListProgress().value();
      if (rows.size() == 1 && rows[0].state.find(text) != std::string::npos) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  };
  bool seen = true;
  explore_.measure.runner = [&](const job::Plan&, const launch::LaunchOptions& launch) -> Result<job::RunRecord> {
    job::Step step;
    step.step = 7;
    step.loss = 1.5;
    step.seconds = 1;
    launch.on_event(step);
    seen = seen && wait_for(fmt::format("\"done\":{}", runs_.load())) && wait_for("\"step\":7");
    ++runs_;
    return testing::DoneRun();
  };
  Run(Space());
  EXPECT_TRUE(seen);
  EXPECT_EQ(runs_, 4);
  EXPECT_THAT(reader->ListProgress().value(), IsEmpty()) << "nothing goes on any more";
}

TEST_F(ExploreTest, ASecondOperationLaunchesNothing) {
  Run(Space());
  const ExploreSummary again = Run(Space());
  EXPECT_EQ(again.replayed, 4);
  EXPECT_EQ(again.measured, 0);
  EXPECT_EQ(runs_, 4);
  // A larger space that holds the smaller one measures only what is new.
  EXPECT_EQ(Run(Space("1, 2, 4")).measured, 2);
  EXPECT_EQ(runs_, 6);
}

TEST_F(ExploreTest, MaxPointsCountsWhatIsMeasuredNow) {
  explore_.max_points = 3;
  const ExploreSummary first = Run(Space());
  EXPECT_EQ(first.measured, 3);
  EXPECT_EQ(first.remaining, 1);
  const ExploreSummary second = Run(Space());
  EXPECT_EQ(second.replayed, 3);
  EXPECT_EQ(second.measured, 1);
}

TEST_F(ExploreTest, InvalidPointsAreNotRepeatedAndFailedOnesAre) {
  Answer([](const job::TunePlan& plan) {
    if (plan.batch_size == 2) {
      return EndedRun(job::RunEnd::kOutOfMemory, "out of memory");
    }
    return plan.model_max_length == 32 ? EndedRun(job::RunEnd::kKilled, "killed") : testing::DoneRun();
  });
  const ExploreSummary first = Run(Space());
  EXPECT_EQ(first.measured, 1);
  EXPECT_EQ(first.invalid, 2);
  EXPECT_EQ(first.failed, 1);
  EXPECT_TRUE(first.stopped_by.ok());
  EXPECT_THAT(*MeasurementsOf(Space(), *store_, /*with_series=*/false), SizeIs(4));
  Answer([](const job::TunePlan&) { return testing::DoneRun(); });
  const ExploreSummary second = Run(Space());
  EXPECT_EQ(second.measured, 1);
  EXPECT_EQ(second.replayed, 3);
}

TEST_F(ExploreTest, RetriesFailedPointsWhenAsked) {
  Answer([this](const job::TunePlan&) {
    return runs_ % 2 == 1 ? EndedRun(job::RunEnd::kVanished, "vanished") : testing::DoneRun();
  });
  explore_.retries = 1;
  EXPECT_EQ(Run(Space()).measured, 4);
  EXPECT_EQ(runs_, 8);
}

TEST_F(ExploreTest, APointWhoseMachineWasLostMovesToAnother) {
  Answer([this](const job::TunePlan&) {
    return runs_ < 3 ? EndedRun(job::RunEnd::kLost, "machine node1 was lost") : testing::DoneRun();
  });
  EXPECT_EQ(Run(Space()).measured, 4);
  EXPECT_EQ(runs_, 6);
  Answer([](const job::TunePlan&) { return EndedRun(job::RunEnd::kLost, "machine node1 was lost"); });
  explore_.measure.replay = false;
  explore_.max_points = 1;
  runs_ = 0;
  EXPECT_EQ(Run(Space()).failed, 1);
  EXPECT_EQ(runs_, 4) << "there is an end to it";
}

TEST_F(ExploreTest, ASamplerChoosesAndIsTold) {
  struct Backwards : Sampler {
    std::optional<int64_t> Next() override { return next >= 0 ? std::optional(next--) : std::nullopt; }
    void Tell(int64_t position, const std::vector<double>& objectives) override {
      told.emplace_back(position, objectives);
    }
    int64_t next = 3;
    std::vector<std::pair<int64_t, std::vector<double>>> told;
  };
  const auto sampler = std::make_shared<Backwards>();
  explore_.sampler = sampler;
  explore_.budget = 3;
  explore_.objectives = [this](const samplestore::Measurement&) { return std::vector{static_cast<double>(runs_)}; };
  const ExploreSummary summary = Run(Space());
  EXPECT_EQ(summary.measured, 3);
  EXPECT_EQ(summary.remaining, 0);
  EXPECT_EQ(sampler->told, (decltype(sampler->told){{3, {1}}, {2, {2}}, {1, {3}}}));
}

// They may come from a store that does not answer for long.
TEST_F(ExploreTest, OthersGoOnWhileAPointsObjectivesAreFoundOut) {
  explore_.sampler = MakeSampler("sequential", Grid(Space()), 4, 1).value();
  explore_.workers = 2;
  std::atomic<bool> is_first = true;
  int runs_meanwhile = 0;
  explore_.objectives = [&](const samplestore::Measurement&) {
    if (is_first.exchange(false)) {
      for (int tries = 0; tries < 30'000 && runs_ < 4; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      runs_meanwhile = runs_;
    }
    return std::vector{1.0};
  };
  EXPECT_EQ(Run(Space()).measured, 4);
  EXPECT_EQ(runs_meanwhile, 4);
}

TEST_F(ExploreTest, EndsWhenNothingBetterComes) {
  explore_.sampler = MakeSampler("sequential", Grid(Space()), 4, 1).value();
  explore_.objectives = [this](const samplestore::Measurement&) { return std::vector{static_cast<double>(runs_)}; };
  explore_.patience = 2;
  const ExploreSummary summary = Run(Space());
  EXPECT_TRUE(summary.settled);
  EXPECT_EQ(summary.measured, 3);
  EXPECT_EQ(summary.remaining, 1);
}

TEST_F(ExploreTest, AMistakeOfEveryPointStopsEarly) {
  const ExploreSummary summary = Run(Space("1, 2", "/nonexistent/model"));
  EXPECT_EQ(summary.failed, 1);
  EXPECT_EQ(summary.remaining, 3);
  EXPECT_EQ(ExitCode(summary.stopped_by), 2);
  EXPECT_THAT(summary.stopped_by.message(), HasSubstr("/nonexistent/model"));
}

TEST_F(ExploreTest, AMistakeOfSomePointsDoesNotStopTheOthers) {
  const ExploreSummary summary = Run(Space("1, 2", "/nonexistent/model', '" + Path("model")));
  EXPECT_EQ(summary.failed, 4);
  EXPECT_EQ(summary.measured, 4);
  EXPECT_TRUE(summary.stopped_by.ok());
}

TEST_F(ExploreTest, AWorkerThatCannotStartEndsTheOperation) {
  explore_.measure.runner = [this](const job::Plan&, const launch::LaunchOptions&) -> Result<job::RunRecord> {
    ++runs_;
    return Status::NotFound("cannot start a worker");
  };
  EXPECT_EQ(Explore(Space(), *store_, explore_, {}).status().message(), "cannot start a worker");
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ((*store_->ListOperations())[0].exit_state, "fail");
}

TEST_F(ExploreTest, WhatEndedTheOperationIsToldAndNotThatItsEndCannotBeNoted) {
  explore_.measure.runner = [this](const job::Plan&, const launch::LaunchOptions&) -> Result<job::RunRecord> {
    using samplestore::SqliteConnection;
    const auto connection = SqliteConnection::Open(Path("runs.db"), SqliteConnection::Access::kReadWrite);
    EXPECT_TRUE((*connection)->Execute("DROP TABLE operations").ok());
    return Status::NotFound("cannot start a worker");
  };
  EXPECT_EQ(Explore(Space(), *store_, explore_, {}).status().message(), "cannot start a worker");
}

TEST_F(ExploreTest, SeveralWorkersShareThePoints) {
  explore_.workers = 3;
  std::set<int64_t> threads;
  std::mutex mutex;
  Answer([&](const job::TunePlan& plan) {
    const std::lock_guard lock(mutex);
    threads.insert(plan.threads);
    return testing::DoneRun();
  });
  EXPECT_EQ(Run(Space("1, 2, 3, 4")).measured, 8);
  EXPECT_EQ(runs_, 8);
  EXPECT_THAT(threads, ElementsAre(::testing::Ge(1)));
}

size_t ThreadsOfThisProcess() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Iterator("/proc/self/task"), Iterator()));
}

/// The space's order. Whoever asks first asks so long that all other threads come to wait for it.
class SlowSampler : public Sampler {
 public:
  std::optional<int64_t> Next() override {
    if (next_ == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      threads = ThreadsOfThisProcess();
    }
    return next_++;
  }

  size_t threads = 0;

 private:
  int64_t next_ = 0;
};

TEST_F(ExploreTest, StartsNoMoreThreadsThanThereArePoints) {
  const auto sampler = std::make_shared<SlowSampler>();
  explore_.sampler = sampler;
  explore_.workers = 500;
  const size_t before = ThreadsOfThisProcess();
  EXPECT_EQ(Run(Space()).measured, 4);
  EXPECT_LT(sampler->threads, before + 50) << "of four points, and what writes how it goes on";
}

TEST_F(ExploreTest, PassesEventsWithThePointsIndex) {
  std::vector<int64_t> indices;
  Answer([](const job::TunePlan&) { return testing::DoneRun(); });
  Run(Space(), {.on_start = {}, .on_busy = {}, .on_done = {}, .on_event = [&](int64_t index, const job::Event&) {
                  indices.push_back(index);
                }});
  EXPECT_THAT(indices, ElementsAre(0, 1, 2, 3));
}

TEST_F(ExploreTest, RemembersTheOperation) {
  const ExploreSummary summary = Run(Space());
  const auto operations = store_->ListOperations();
  ASSERT_TRUE(operations.ok());
  ASSERT_THAT(*operations, SizeIs(1));
  EXPECT_EQ((*operations)[0].uid, summary.operation_uid);
  EXPECT_EQ((*operations)[0].space, "test");
  EXPECT_EQ((*operations)[0].exit_state, "success");
}

TEST_F(ExploreTest, WaitsForAPointThatSomebodyElseMeasures) {
  const experiment::BoundSpace space = Space();
  const experiment::BoundPoint point = space.At(1);
  const samplestore::MemoKey key = {point.parameterized_id, point.entity_id};
  const samplestore::Claim claim = store_->TryClaim(key, "other", 60, 1).value();
  ASSERT_EQ(claim.result, samplestore::ClaimResult::kClaimed);
  ExploreCallbacks callbacks;
  int busy = 0;
  callbacks.on_busy = [&](const PointStart& start) {
    EXPECT_EQ(start.index, 1);
    if (++busy > 1) {
      return;
    }
    EXPECT_TRUE(OpenStore()->AppendClaimed(testing::MeasurementOf(point, "from elsewhere"), claim.fence).ok());
  };
  const ExploreSummary summary = Run(space, callbacks);
  EXPECT_EQ(busy, 1);
  EXPECT_EQ(summary.measured, 3);
  EXPECT_EQ(summary.replayed, 1);
}

/// The space's order, and how much of it was asked for.
class CountingSampler : public Sampler {
 public:
  std::optional<int64_t> Next() override { return asked++; }

  std::atomic<int64_t> asked = 0;
};

// Of two threads one holds the only reservation, for a point that is not free, while the other one is refused. Then the
// refused point is free, and the one that is looked at again is not.
TEST_F(ExploreTest, AReservationThatWasNotUsedIsUsedForAnotherPoint) {
  const experiment::BoundSpace space = Space("1");
  std::vector<samplestore::MemoKey> keys;
  std::vector<int64_t> fences;
  for (int64_t index = 0; index < space.size(); ++index) {
    const experiment::BoundPoint point = space.At(index);
    keys.push_back({point.parameterized_id, point.entity_id});
    fences.push_back(store_->TryClaim(keys.back(), "other", 60, 1)->fence);
  }
  explore_.workers = 2;
  explore_.max_points = 1;
  const auto sampler = std::make_shared<CountingSampler>();
  explore_.sampler = sampler;
  int64_t busy = -1;
  std::vector<int64_t> measured;
  ExploreCallbacks callbacks;
  callbacks.on_start = [&](const PointStart&) {
    for (int tries = 0; tries < 30'000 && sampler->asked < 2; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // from when the other has its point to its refusal
  };
  callbacks.on_busy = [&](const PointStart& start) {
    const bool is_first = busy < 0;
    busy = is_first ? start.index : busy;
    const int64_t freed = is_first ? 1 - busy : busy;  // the busy one too if it is tried again, so that the test ends
    EXPECT_TRUE(store_->ReleaseClaim(keys[freed], fences[freed]).ok());
  };
  callbacks.on_done = [&](const PointDone& done) { measured.push_back(done.index); };
  const ExploreSummary summary = Run(space, callbacks);
  EXPECT_THAT(measured, ElementsAre(1 - busy));
  EXPECT_EQ(summary.remaining, 1);
}

// Its process was stopped while it ran, and another one has measured the point meanwhile.
TEST_F(ExploreTest, AMeasurementWhoseClaimWasLostIsNotStored) {
  const experiment::BoundSpace space = Space();
  Answer([&](const job::TunePlan&) {
    if (runs_ == 1) {
      const experiment::BoundPoint point = space.At(0);
      const samplestore::MemoKey key = {point.parameterized_id, point.entity_id};
      const auto later =
          samplestore::OpenStore("sqlite:///" + Path("runs.db"), samplestore::StoreAccess::kReadWrite,
                                 {.clock = samplestore::LeaseClock{.epoch = samplestore::MachineLeaseClock().epoch,
                                                                   .seconds = [] { return MonotonicSeconds() + 60; }}})
              .value();
      EXPECT_EQ(later->TryClaim(key, "other", 60, 1)->result, samplestore::ClaimResult::kClaimed);
      EXPECT_TRUE(later->ReleaseClaim(key, later->TryClaim(key, "other", 60, 1)->fence).ok());
    }
    return testing::DoneRun();
  });
  const ExploreSummary summary = Run(space);
  EXPECT_EQ(summary.measured, 4);
  EXPECT_EQ(runs_, 5);
  EXPECT_EQ(*store_->Count({}), 4);
  EXPECT_TRUE(FileExists(store_->RefusedFile()));
}

TEST_F(ExploreTest, ASurveySaysWhatIsMissing) {
  const experiment::BoundSpace space = Space();
  explore_.max_points = 1;
  Run(space);
  explore_.max_points = -1;
  std::vector<Prospect> prospects;
  const auto survey = SurveySpace(space, *store_, explore_, [&](const experiment::BoundPoint&, Prospect prospect) {
    prospects.push_back(prospect);
  });
  ASSERT_TRUE(survey.ok()) << survey.status().message();
  EXPECT_EQ(survey->replayed, 1);
  EXPECT_EQ(survey->missing, 3);
  EXPECT_THAT(prospects, ElementsAre(Prospect::kReplay, Prospect::kMeasure, Prospect::kMeasure, Prospect::kMeasure));
  EXPECT_EQ(runs_, 1);
  explore_.max_points = 2;
  const auto first = SurveySpace(space, *store_, explore_);
  EXPECT_EQ(first->missing, 2);
  EXPECT_EQ(first->not_looked_at, 1);
  explore_.max_points = -1;
  explore_.measure.replay = false;
  EXPECT_EQ(SurveySpace(space, *store_, explore_)->missing, 4);
}

/// A survey before each exploration: both must come upon the same points, in the same order.
class SurveyTest : public ExploreTest {
 protected:
  void ExpectForeseen(const experiment::BoundSpace& space) {
    std::vector<std::string> foreseen;
    const auto survey =
        SurveySpace(space, *store_, explore_, [&](const experiment::BoundPoint& point, Prospect prospect) {
          if (prospect != Prospect::kReplay) {
            foreseen.push_back(point.entity_id);
          }
        });
    ASSERT_TRUE(survey.ok()) << survey.status().message();
    std::vector<std::string> measured;
    ExploreCallbacks callbacks;
    callbacks.on_done = [&](const PointDone& done) {
      if (done.result->source == Source::kMeasured) {
        measured.push_back(done.point->entity_id);
      }
    };
    const ExploreSummary summary = Run(space, callbacks);
    EXPECT_THAT(foreseen, SizeIs(explore_.max_points));
    EXPECT_EQ(foreseen, measured);
    EXPECT_EQ(survey->missing, summary.measured);
    EXPECT_EQ(survey->forbidden, summary.invalid);
    EXPECT_EQ(survey->replayed, summary.replayed);
    EXPECT_EQ(survey->not_looked_at, summary.remaining);
  }
};

TEST_F(SurveyTest, ForeseesTheRoundsOfRepeats) {
  explore_.repeats = 2;
  for (const int64_t max_points : {1, 2, 5}) {
    explore_.max_points = max_points;
    ExpectForeseen(Space());
  }
}

TEST_F(SurveyTest, ForeseesWhatIsReplayedBehindTheLimit) {
  Run(Space("2"));
  explore_.max_points = 1;
  ExpectForeseen(Space("1, 2"));
}

TEST_F(SurveyTest, ForeseesThatForbiddenPointsCount) {
  // One GPU is more than the rules allow without gpu_model: of eight points four are forbidden.
  const experiment::BoundSpace space = Space("1, 2", "", "1, 0");
  explore_.repeats = 2;
  for (const int64_t max_points : {3, 10}) {
    ASSERT_TRUE(store_->Remove({}).ok());
    explore_.max_points = max_points;
    ExpectForeseen(space);
  }
}

// Its rule is newer than the measurement: the first round meets the measurement, the second the rule, the third its
// verdict.
TEST_F(SurveyTest, ForeseesTheVerdictOnAPointThatWasMeasured) {
  const experiment::BoundSpace space = Space("1, 2", "", "1");
  ASSERT_TRUE(store_->Append(testing::MeasurementOf(space.At(0), "by older programs")).ok());
  explore_.repeats = 3;
  explore_.max_points = 4;
  ExpectForeseen(space);
}

TEST_F(SurveyTest, ForeseesWhatHoldsForSoManyWorkers) {
  Run(Space());
  explore_.workers = 2;
  for (const Reuse reuse : AllReuses()) {
    explore_.measure.reuse = reuse;
    EXPECT_EQ(SurveySpace(Space(), *store_, explore_)->missing, 4) << ToString(reuse);
  }
}

TEST_F(ExploreTest, RepeatsEndWithANarrowInterval) {
  // Batches of two take another time in every run.
  Answer([this](const job::TunePlan& plan) {
    job::RunRecord record = testing::DoneRun();
    for (job::Event& event : record.events) {
      if (auto* step = std::get_if<job::Step>(&event); step != nullptr && plan.batch_size == 2) {
        step->seconds *= runs_;
      }
    }
    if (plan.batch_size == 2) {
      std::get<job::Ended>(record.events.back()).train_runtime *= runs_;
    }
    return record;
  });
  explore_.repeats = 6;
  explore_.until = RepeatUntil{.interval = 0.01, .target = "train_runtime"};
  std::vector<std::string> means;
  ExploreCallbacks callbacks;
  callbacks.on_mean = [&](const PointMean& ended) {
    means.push_back(fmt::format("{} {} {}", std::get<int64_t>(ended.point->entity.at("batch_size")),
                                ended.mean->estimate.batches, ended.mean->narrow));
  };
  const ExploreSummary summary = Run(Space(), callbacks);
  EXPECT_THAT(means, ::testing::ElementsAre("1 3 true", "1 3 true", "2 6 false", "2 6 false"));
  EXPECT_EQ(summary.measured, 2 * 3 + 2 * 6);
  EXPECT_EQ(summary.narrow, 2);
  EXPECT_EQ(summary.wide, 2);
  EXPECT_EQ(summary.spared, 2 * 3);
  EXPECT_EQ(summary.remaining, 0);
}

TEST_F(ExploreTest, RepeatsThatEndedAreNotMadeByALaterExploration) {
  explore_.repeats = 6;
  explore_.until = RepeatUntil{.interval = 0.01, .target = "train_runtime"};
  EXPECT_EQ(Run(Space()).measured, 4 * 3);
  const auto runs = store_->List({}, /*with_series=*/false);
  for (const samplestore::Measurement& run : *runs) {
    EXPECT_EQ(run.provenance.at("repeats_at_most"), "6") << "who reads it knows how wide its interval is";
  }
  EXPECT_EQ(SurveySpace(Space(), *store_, explore_)->missing, 0);
  const ExploreSummary again = Run(Space());
  EXPECT_EQ(again.measured, 0);
  EXPECT_EQ(again.narrow, 4);
  EXPECT_EQ(*store_->Count({}), 12);
}

TEST_F(ExploreTest, MeasuresAgainOnRequest) {
  Run(Space());
  explore_.measure.replay = false;
  EXPECT_EQ(Run(Space()).measured, 4);
  EXPECT_EQ(*store_->Count({}), 8);
}

TEST_F(ExploreTest, TwoProcessesMeasureNoPointTwice) {
  Answer([](const job::TunePlan&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return testing::DoneRun();
  });
  const experiment::BoundSpace space = Space("1, 2, 3, 4, 5");
  const pid_t child = fork();
  if (child == 0) {
    _exit(Explore(space, *OpenStore(), explore_, {}).ok() ? 0 : 1);
  }
  const auto own_store = OpenStore();
  EXPECT_TRUE(Explore(space, *own_store, explore_, {}).ok());
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*own_store->Count({}), 10);
}

TEST_F(ExploreTest, CtrlCKeepsWhatWasMeasuredAndTheRestIsDoneLater) {
  const auto interrupted = [this] {
    InstallInterruptHandler();
    Answer([this](const job::TunePlan&) {
      if (runs_ == 3) {
        std::raise(SIGINT);
        return EndedRun(job::RunEnd::kInterrupted, "interrupted");
      }
      return testing::DoneRun();
    });
    const auto summary = Explore(Space(), *OpenStore(), explore_, {});
    std::_Exit(summary.ok() && summary->interrupted && summary->measured == 2 && summary->remaining == 2 ? 0 : 1);
  };
  EXPECT_EXIT(interrupted(), ::testing::ExitedWithCode(0), "");
  const ExploreSummary rest = Run(Space());
  EXPECT_EQ(rest.replayed, 2);
  EXPECT_EQ(rest.measured, 2);
  EXPECT_EQ((*store_->ListOperations())[0].exit_state, "interrupted");
}

TEST_F(ExploreTest, AfterAKillOnlyMissingPointsRun) {
  explore_.measure.lease_seconds = 3600;
  const pid_t child = fork();
  if (child == 0) {
    Answer([this](const job::TunePlan&) {
      if (runs_ == 2) {
        kill(getpid(), SIGKILL);
      }
      return testing::DoneRun();
    });
    static_cast<void>(Explore(Space(), *OpenStore(), explore_, {}));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  // The claim of the killed process must not hold anybody up.
  const ExploreSummary rest = Run(Space());
  EXPECT_EQ(rest.replayed, 1);
  EXPECT_EQ(rest.measured, 3);
  EXPECT_LT(rest.seconds, explore_.measure.lease_seconds / 2);
}

TEST_F(ExploreTest, RepeatsAreMadeInTurnsAndCountWhatTheStoreHas) {
  const experiment::BoundSpace space = Space();
  Run(space);
  std::vector<int64_t> order;
  ExploreCallbacks callbacks;
  std::vector<std::string> numbers;
  callbacks.on_start = [&](const PointStart& start) {
    order.push_back(start.index);
    numbers.push_back(fmt::format("{}/{}", start.number, start.total));
  };
  explore_.repeats = 3;
  const ExploreSummary summary = Run(space, callbacks);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(numbers, ElementsAre("5/12", "6/12", "7/12", "8/12", "9/12", "10/12", "11/12", "12/12"));
  EXPECT_EQ(summary.measured, 8);
  EXPECT_EQ(summary.replayed, 4);
  EXPECT_EQ(summary.remaining, 0);
  EXPECT_EQ(Run(space).replayed, 12);
  const auto measurements = MeasurementsOf(space, *store_, /*with_series=*/false).value();
  ASSERT_THAT(measurements, SizeIs(12));
  EXPECT_EQ(measurements[0].entity_id, measurements[2].entity_id);
  EXPECT_NE(measurements[0].uid, measurements[2].uid);
  EXPECT_NE(measurements[2].entity_id, measurements[3].entity_id);
}

TEST_F(ExploreTest, TwoProcessesShareTheRepeats) {
  Answer([](const job::TunePlan&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return testing::DoneRun();
  });
  explore_.repeats = 3;
  const experiment::BoundSpace space = Space();
  const pid_t child = fork();
  if (child == 0) {
    _exit(Explore(space, *OpenStore(), explore_, {}).ok() ? 0 : 1);
  }
  const auto own_store = OpenStore();
  EXPECT_TRUE(Explore(space, *own_store, explore_, {}).ok());
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*own_store->Count({}), 12);
}

TEST_F(ExploreTest, InvalidPointsAreNotRepeated) {
  options_.runner = [](const job::Plan&, const launch::LaunchOptions&) -> Result<job::RunRecord> {
    return EndedRun(job::RunEnd::kOutOfMemory, "out of memory");
  };
  explore_.measure = options_;
  explore_.repeats = 2;
  const ExploreSummary summary = Run(Space());
  EXPECT_EQ(summary.invalid, 4);
  EXPECT_EQ(summary.replayed, 4);
}

}  // namespace
}  // namespace assay::explore
