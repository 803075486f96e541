#include "engine/checkpoint/training_saver.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "engine/checkpoint/holdings.h"
#include "engine/checkpoint/read_training.h"
#include "engine/checkpoint/testing.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::ThrowsMessage;

const std::map<std::string, std::string> kSettings = {{"the seed", "1"}};

/// Two matrices and a bias, which AdamW updates.
struct Model {
  explicit Model(double first, int64_t rows = 5, const char* bias = "bias")
      : parameters{{"a.weight", at::full({rows, 3}, first)},
                   {"b.weight", at::full({2, 2}, first + 1)},
                   {bias, at::full({4}, first + 2)}} {
    for (auto& [name, tensor] : parameters) {
      tensor.set_requires_grad(true);
    }
    optimizer = make_optimizer("adamw_torch", parameters, {.weight_decay = 0.1});
  }

  /// The last `without` parameters get no gradient.
  void step(double gradient, size_t without = 0) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      at::Tensor& tensor = parameters[i].second;
      tensor.mutable_grad() = i + without < parameters.size()
                                  ? at::full_like(tensor, gradient).mul_(static_cast<double>(i + 1))
                                  : at::Tensor();
    }
    optimizer->step(1e-2, {});
  }

  std::vector<std::pair<std::string, at::Tensor>> parameters;
  std::unique_ptr<Optimizer> optimizer;
};

class TrainingSaverTest : public ::testing::Test {
 protected:
  SavedTraining save(Model& model, int64_t step) {
    TrainingSaver saver(folder_, testing::ranks_of(nullptr), {});
    saver.begin(state_of(step), held_by(*model.optimizer));
    return saver.finish();
  }
  TrainingState read(Model& model, int64_t step) {
    return read_training(folder_.place_of(step), kSettings, held_by(*model.optimizer));
  }
  static TrainingState state_of(int64_t step) {
    return {.position = {.step = step + 2, .counted = step, .skipped = 1},
            .learning_rate = 0.25,
            .loss_scale = LossScaler::State{.scale = 512, .steps_since_overflow = 3, .overflows_left = 2},
            .run = kSettings};
  }

  TemporaryDirectory directory_ = std::move(TemporaryDirectory::Create("saver")).value();
  RunFolder folder_{directory_.path() + "/run"};
};

TEST_F(TrainingSaverTest, ATrainingGoesOnAsIfItHadNeverStopped) {
  Model straight(1);
  straight.step(0.5);
  straight.step(-0.25, /*without=*/1);
  const SavedTraining saved = save(straight, 2);
  EXPECT_GT(saved.bytes, 0);

  Model other(7);
  other.step(3);
  const TrainingState state = read(other, 2);
  EXPECT_EQ(state.position.step, 4);
  EXPECT_EQ(state.position.counted, 2);
  EXPECT_EQ(state.position.skipped, 1);
  EXPECT_EQ(state.learning_rate, 0.25);
  ASSERT_TRUE(state.loss_scale);
  EXPECT_EQ(state.loss_scale->scale, 512);
  EXPECT_EQ(state.loss_scale->steps_since_overflow, 3);

  for (Model* model : {&straight, &other}) {
    model->step(0.125);
    model->step(0.75, /*without=*/2);
  }
  for (size_t i = 0; i < straight.parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(straight.parameters[i].second, other.parameters[i].second)) << straight.parameters[i].first;
  }
}

TEST_F(TrainingSaverTest, OnlyWhatNobodyWaitsForIsBesideTheTraining) {
  std::vector<std::pair<std::string, bool>> started;
  CheckpointRanks ranks = testing::ranks_of(nullptr);
  ranks.start = [&started, start = ranks.start](const std::string& what, MostWork most, bool is_beside,
                                                std::function<void()> work) {
    started.emplace_back(what.substr(0, what.find(' ')), is_beside);
    return start(what, most, is_beside, std::move(work));
  };
  Model model(1);
  model.step(0.5);
  TrainingSaver saver(folder_, ranks, {});
  saver.begin(state_of(1), held_by(*model.optimizer));
  while (!saver.advance()) {
  }
  EXPECT_THAT(started, ElementsAre(Pair("begin", true), Pair("write", true), Pair("publish", true)));
  started.clear();
  saver.begin(state_of(2), held_by(*model.optimizer));
  saver.finish();
  EXPECT_THAT(started, ElementsAre(Pair("begin", true), Pair("write", false), Pair("publish", false)));
  started.clear();
  ranks.together("look around", [] {});
  EXPECT_THAT(started, ElementsAre(Pair("look", false)));
}

TEST_F(TrainingSaverTest, WhatKilledSavesOfAnotherRunLeftBelowTheFolderStays) {
  Model model(1);
  model.step(0.5);
  save(model, 1);
  const std::string inner = directory_.path() + "/run/step-1/";
  ASSERT_TRUE(std::filesystem::remove(inner + ".metadata"));
  const RunFolder outer(directory_.path());
  outer.sweep(outer.look(), 0);
  EXPECT_TRUE(std::filesystem::exists(inner + "__0_0.distcp"));
  folder_.sweep(folder_.look(), 0);
  EXPECT_FALSE(std::filesystem::exists(inner + "__0_0.distcp"));
}

TEST_F(TrainingSaverTest, StatesOfParametersThatWereNeverUpdatedAreNotWritten) {
  Model model(1);
  model.step(0.5, /*without=*/1);
  save(model, 1);
  const checkpoint::Checkpoint written = value_or_throw(checkpoint::OpenCheckpoint(folder_.place_of(1)));
  std::set<std::string> names;
  for (const checkpoint::Leaf& leaf : written.state.leaves) {
    names.insert(leaf.name);
  }
  EXPECT_TRUE(names.contains("model.bias"));
  EXPECT_TRUE(names.contains("optimizer.state.b.weight.exp_avg_sq"));
  EXPECT_FALSE(names.contains("optimizer.state.bias.exp_avg"));
}

TEST_F(TrainingSaverTest, TheLastWholeCheckpointIsFound) {
  EXPECT_FALSE(folder_.look().last_step());
  Model model(1);
  for (const int64_t step : {2, 10, 9}) {
    save(model, step);
  }
  EXPECT_EQ(folder_.look().last_step(), 10);
  std::filesystem::remove(directory_.path() + "/run/step-10/.metadata");
  EXPECT_EQ(folder_.look().last_step(), 9);
  EXPECT_FALSE(folder_.look().has_damaged());
  // A stranger's file below a step is none of the run's checkpoints.
  ASSERT_TRUE(WriteFileAtomically(directory_.path() + "/run/step-2/notes.pt", "no archive").ok());
  EXPECT_TRUE(folder_.look().has_damaged());
  EXPECT_THAT(folder_.look().damaged_steps, ::testing::IsEmpty());
  std::filesystem::resize_file(directory_.path() + "/run/step-9/__0_0.distcp", 100);
  EXPECT_EQ(folder_.look().last_step(), 2);
  EXPECT_THAT(folder_.look().damaged_steps, ::testing::ElementsAre(::testing::Key(9)));
}

TEST_F(TrainingSaverTest, ACheckpointThatStandsIsNotReplaced) {
  Model model(1);
  save(model, 1);
  EXPECT_THAT([&] { save(model, 1); }, ThrowsMessage<StatusError>(HasSubstr("holds a checkpoint already")));
}

TEST_F(TrainingSaverTest, FilesWithPrefixesThatAKilledSaveLeftAreNotInTheWay) {
  Model model(1);
  TrainingSaver saver(folder_, testing::ranks_of(nullptr),
                      {.layout = {.prefix = {.strategy = checkpoint::PrefixStrategy::kHex}}});
  saver.begin(state_of(1), held_by(*model.optimizer));
  saver.finish();
  ASSERT_TRUE(std::filesystem::remove(directory_.path() + "/run/step-1/.metadata"));
  saver.begin(state_of(1), held_by(*model.optimizer));
  saver.finish();
  Model other(7);
  read(other, 1);
  EXPECT_TRUE(at::equal(model.parameters[0].second, other.parameters[0].second));
}

TEST_F(TrainingSaverTest, AReplicaThatAnotherRankWritesIsNotTouched) {
  std::vector<HeldState> held(2);
  for (size_t i = 0; i < held.size(); ++i) {
    held[i].name = i == 0 ? "a" : "b";
    held[i].shape = {8};
    held[i].part = checkpoint::WholeOf({8});
    held[i].weight = at::full({8}, 1.0 + static_cast<double>(i));
  }
  const checkpoint::RankHoldings holdings = holdings_of(held);
  const checkpoint::SavePlan plan = value_or_throw(checkpoint::PlanSave({holdings, holdings}, {}));
  // Nobody could copy from there.
  held[1].weight = at::empty({8}, at::TensorOptions().device(c10::kMeta).dtype(at::kFloat));
  const size_t writer = plan.ranks[0].front().items.front().held == 0 ? 0 : 1;
  const checkpoint::RankContents contents = contents_of(held, plan.ranks[writer]);
  ASSERT_EQ(contents.tensors.size(), 2U);
  EXPECT_NE(contents.tensors[0].source, nullptr);
  EXPECT_EQ(contents.tensors[1].source, nullptr);
  for (const checkpoint::PlannedFile& file : plan.ranks[writer]) {
    EXPECT_TRUE(checkpoint::LayOutFile(file, holdings, contents).ok());
  }
}

TEST_F(TrainingSaverTest, WhatIsDamagedIsReplacedAndNothingElse) {
  const RunFolder second(directory_.path() + "/second");
  Model model(1);
  save(model, 3);
  save(model, 6);
  TrainingSaver copier(folder_, testing::ranks_of(nullptr), {.second = &second});
  copier.begin_copy(6);
  copier.finish();
  for (const char* file : {"/run/step-3/__0_0.distcp", "/second/step-6/__0_0.distcp"}) {
    std::filesystem::resize_file(directory_.path() + file, 100);
  }
  // Another run's comes to stand where nothing was damaged.
  save(model, 9);
  TrainingSaver saver(folder_, testing::ranks_of(nullptr), {.replaced_steps = {3, 6}, .second = &second});
  saver.begin_copy(6);
  saver.finish();
  EXPECT_EQ(second.look().last_step(), 6);
  saver.begin(state_of(3), held_by(*model.optimizer));
  saver.finish();
  EXPECT_THAT(folder_.look().damaged_steps, ::testing::IsEmpty());
  saver.begin(state_of(9), held_by(*model.optimizer));
  EXPECT_THAT([&] { saver.finish(); }, ThrowsMessage<StatusError>(HasSubstr("holds a checkpoint already")));
}

TEST_F(TrainingSaverTest, ACheckpointOfAnotherModelChangesNothing) {
  Model model(1);
  save(model, 1);
  Model larger(3, /*rows=*/6);
  EXPECT_THAT([&] { read(larger, 1); },
              ThrowsMessage<StatusError>(HasSubstr("'a.weight' has the shape [5, 3] there and [6, 3] here")));
  EXPECT_TRUE(at::equal(larger.parameters[1].second, at::full({2, 2}, 4.0)));
  Model renamed(3, 5, "other.bias");
  EXPECT_THAT([&] { read(renamed, 1); }, ThrowsMessage<StatusError>(HasSubstr("has no 'other.bias'")));
}

TEST_F(TrainingSaverTest, ACopyIsWrittenWhileTheTrainingGoesOn) {
  Model model(1);
  model.step(0.5);
  Model stopped(1);
  stopped.step(0.5);
  TrainingSaver saver(folder_, testing::ranks_of(nullptr), {.copies = true});
  saver.prepare(state_of(0), held_by(*Model(1).optimizer));  // which was never updated
  for (const int64_t step : {1, 2}) {
    saver.begin(state_of(step), held_by(*model.optimizer));
    EXPECT_TRUE(saver.is_under_way());
    saver.await_copy();
    EXPECT_FALSE(saver.is_copying());
    model.step(0.25);
    saver.finish();
    EXPECT_FALSE(saver.is_under_way());
    Model other(7);
    read(other, step);
    for (size_t i = 0; i < other.parameters.size(); ++i) {
      EXPECT_TRUE(at::equal(stopped.parameters[i].second, other.parameters[i].second)) << "step " << step;
    }
    stopped.step(0.25);
  }
}

TEST_F(TrainingSaverTest, ASecondPlaceGetsTheSameFiles) {
  const RunFolder second(directory_.path() + "/second");
  Model model(1);
  model.step(0.5);
  TrainingSaver saver(folder_, testing::ranks_of(nullptr), {.second = &second});
  saver.begin(state_of(3), held_by(*model.optimizer));
  saver.publish();
  EXPECT_EQ(folder_.look().last_step(), 3);
  const SavedTraining saved = saver.finish();
  EXPECT_GE(saved.second_seconds, saved.seconds);
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path() + "/run/step-3")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("manifest-")) {
      continue;  // which tells the time of its save
    }
    EXPECT_EQ(value_or_throw(ReadFile(entry.path())),
              value_or_throw(ReadFile(directory_.path() + "/second/step-3/" + name)))
        << name;
  }
  Model other(7);
  read_training(second.place_of(3), kSettings, held_by(*other.optimizer));
  EXPECT_TRUE(at::equal(model.parameters[0].second, other.parameters[0].second));
}

TEST_F(TrainingSaverTest, OldCheckpointsGo) {
  Model model(1);
  TrainingSaver saver(folder_, testing::ranks_of(nullptr),
                      {.keep = {.keep_last = 2, .keep_best = 1, .metric = "loss"}});
  for (const auto& [step, loss] : {std::pair(1, 0.5), {2, 0.1}, {3, 0.4}, {4, 0.3}, {5, 0.2}}) {
    TrainingState state = state_of(step);
    state.metrics["loss"] = loss;
    saver.begin(state, held_by(*model.optimizer));
    saver.finish();
  }
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path() + "/run")) {
    // The store's own folder stays, and folders whose files are gone.
    const std::string name = entry.path().filename();
    if (name != ".assay" && !std::filesystem::is_empty(entry)) {
      left.insert(name);
    }
  }
  EXPECT_THAT(left, ::testing::ElementsAre("step-2", "step-4", "step-5"));
}

TEST_F(TrainingSaverTest, ADamagedOneOfALaterStepTakesNoPlaceAmongTheLast) {
  Model model(1);
  save(model, 5);
  TrainingSaver saver(folder_, testing::ranks_of(nullptr), {.replaced_steps = {5}, .keep = {.keep_last = 1}});
  for (const int64_t step : {3, 4}) {
    saver.begin(state_of(step), held_by(*model.optimizer));
    saver.finish();
    EXPECT_THAT(folder_.look().steps, ::testing::ElementsAre(step, 5));
  }
  saver.begin(state_of(5), held_by(*model.optimizer));
  saver.finish();
  EXPECT_THAT(folder_.look().steps, ::testing::ElementsAre(5));
}

TEST_F(TrainingSaverTest, OtherSettingsAreNamed) {
  Model model(1);
  save(model, 1);
  EXPECT_THAT([&] { read_training(folder_.place_of(1), {{"the seed", "2"}}, held_by(*model.optimizer)); },
              ThrowsMessage<StatusError>(HasSubstr("of a training with the seed 1, this one has 2")));
}

TEST_F(TrainingSaverTest, AFlippedByteIsNamed) {
  Model model(1);
  save(model, 1);
  const std::string file = directory_.path() + "/run/step-1/__0_0.distcp";
  std::string bytes = value_or_throw(ReadFile(file));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  throw_if_error(WriteFileAtomically(file, bytes));
  EXPECT_THAT([&] { read(model, 1); }, ThrowsMessage<StatusError>(HasSubstr("__0_0.distcp")));
}

}  // namespace
}  // namespace assay::engine
