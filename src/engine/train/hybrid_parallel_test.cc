// Tensor, pipeline and data ranks as threads against one rank with the whole model.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/kernels/gradient_rule.h"
#include "engine/model/random_parameter.h"
#include "engine/model/status_error.h"
#include "engine/shard/tensor_parallel.h"
#include "engine/shard/test_course.h"
#include "engine/train/strategy.h"
#include "engine/train/vit_parts.h"
#include "engine/train/vit_pipeline.h"

namespace assay::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::NanSensitiveDoubleEq;
using ::testing::Pointwise;

constexpr int64_t kImages = 8;  // of a step, over all data ranks
constexpr double kLearningRate = 3e-3;
constexpr double kMaxNorm = 0.5;
const OptimizerOptions kOptimizer{.weight_decay = 0.1};

VitConfig small_config() {
  return parse_vit_config(R"({"model_type": "vit", "image_size": 8, "patch_size": 4, "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
    "id2label": {"0": "cat", "1": "dog", "2": "emu"}})",
                          "config.json");
}

at::Tensor initial(const ParameterSpec& spec) {
  return random_parameter(spec, 0.2, at::kFloat, 1);
}

ImageBatch images_of(int64_t step, int64_t first, int64_t count) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(step + 1));
  const at::Tensor pixels = at::randn({kImages, 3, 8, 8}, generator, at::kFloat);
  const at::Tensor labels = at::randint(3, {kImages}, generator, at::kLong);
  return {pixels.narrow(0, first, count), labels.narrow(0, first, count)};
}

struct HybridCourse : testing::Course {
  std::vector<bool> skipped;
  at::Tensor logits;  ///< after training
};

HybridCourse train_alone(int64_t steps) {
  Vit model(small_config(), [](const ParameterSpec& spec) { return initial(spec).requires_grad_(); }, at::kFloat);
  const auto optimizer = make_optimizer("adamw_torch", model.parameters(), kOptimizer);
  HybridCourse course;
  for (int64_t step = 0; step < steps; ++step) {
    const ImageBatch batch = images_of(step, 0, kImages);
    const at::Tensor loss = model.loss(batch.pixels_BCHW, batch.labels_B);
    loss.backward();
    std::vector<at::Tensor> gradients;
    for (const auto& [name, tensor] : model.parameters()) {
      gradients.push_back(tensor.grad());
    }
    const at::Tensor stats = gradient_stats(gradients);
    optimizer->step(kLearningRate, {.max_norm = kMaxNorm, .stats = stats});
    course.losses.push_back(loss.item<double>());
    course.norms.push_back(gradient_norm(stats));
    for (const auto& [name, tensor] : model.parameters()) {
      tensor.mutable_grad() = at::Tensor();
    }
  }
  for (const auto& [name, tensor] : model.parameters()) {
    course.weights[name] = tensor.detach();
  }
  const at::NoGradGuard no_grad;
  course.logits = model.logits(images_of(0, 0, kImages).pixels_BCHW);
  return course;
}

job::VitPlan plan_of(int64_t data, int64_t pipeline, int64_t tensor) {
  job::VitPlan plan;
  plan.plugin = "hybrid_parallel";
  plan.number_ranks = data * pipeline * tensor;
  plan.batch_size = kImages / data;
  plan.knobs.tp_size = tensor;
  plan.knobs.pp_size = pipeline;
  plan.knobs.microbatches = pipeline > 1 ? 4 : 1;
  return plan;
}

/// One rank of a mesh with its part of the model.
class RankOfMesh {
 public:
  RankOfMesh(const job::VitPlan& plan, Communicator& world, int64_t checkpointed_layers)
      : plan_(plan), world_(world), policy_(policy_of(plan)), groups_(plan, policy_, world, world.size()) {
    ImageClassifierOptions options;
    take_part(place_of(plan, groups_.model_rank()), small_config(), options);
    const ParameterSource source = [&](const ParameterSpec& spec) {
      const at::Tensor part = cut_for_rank(vit_split_rules(), spec.name, initial(spec), options.tensor);
      return part.defined() ? part.requires_grad_() : part;
    };
    model_ = std::make_unique<Vit>(small_config(), source, compute_dtype_of(plan), options.part);
    model_->set_checkpointed_layers(checkpointed_layers);
    tensor_ = join_tensor_ranks(plan_, groups_, *model_);
    Shardable* units = tensor_ == nullptr ? static_cast<Shardable*>(model_.get()) : tensor_.get();
    engine_ = std::make_unique<ShardEngine>(*units, policy_, groups_.groups(), kOptimizer);
    updater_ = make_sharded_updater(*engine_, groups_.data_ranks(), /*no_sync=*/true);
    pipeline_ = std::make_unique<VitPipeline>(*model_, groups_.pipeline(), groups_.pipeline_back());
  }

  HybridCourse train(int64_t steps) {
    const int64_t micro_batches = job::MicroBatches(plan_);
    const int64_t images = plan_.batch_size / micro_batches;
    HybridCourse course;
    for (int64_t step = 0; step < steps; ++step) {
      StepUse use;
      const std::vector<at::Tensor> losses = pipeline_->train(
          *updater_,
          [&](int64_t micro) {
            return images_of(step, groups_.data_rank() * plan_.batch_size + micro * images, images);
          },
          micro_batches, images, meter_, use);
      updater_->step(kLearningRate, kMaxNorm);
      const double loss = counts() ? at::stack(losses).mean().item<double>() : 0;
      course.losses.push_back(sum(loss) / static_cast<double>(groups_.data_ranks()));
      const StepReport report = updater_->report();
      course.norms.push_back(report.gradient_norm);
      course.skipped.push_back(report.skipped);
    }
    const auto own = gather_weights(*engine_, groups_, model_->split_rules());
    course.weights.insert(own.begin(), own.end());
    const at::NoGradGuard no_grad;
    course.logits = pipeline_->logits(images_of(0, 0, kImages).pixels_BCHW, kImages);
    return course;
  }

  bool counts() const { return groups_.counts(model_->ends_model()); }

 private:
  double sum(double value) {
    at::Tensor buffer = at::full({1}, value, at::kDouble);
    world_.all_reduce(buffer, ReduceOp::kSum, "loss")->wait();
    return buffer.item<double>();
  }

  const job::VitPlan& plan_;
  Communicator& world_;
  ShardPolicy policy_;
  StrategyGroups groups_;
  std::unique_ptr<Vit> model_;
  std::unique_ptr<TensorParallel> tensor_;
  std::unique_ptr<ShardEngine> engine_;
  std::unique_ptr<Updater> updater_;
  std::unique_ptr<VitPipeline> pipeline_;
  PhaseMeter meter_{c10::kCPU};
};

/// What rank 0 saw, with the logits of a rank that has them. All ranks must agree on norms and skipped steps.
HybridCourse train_on(const job::VitPlan& plan, int64_t steps, int64_t checkpointed_layers = 0) {
  const auto group = make_thread_group(static_cast<int>(plan.number_ranks));
  std::vector<HybridCourse> courses(group.size());
  testing::run_ranks(group, [&](Communicator& world) {
    RankOfMesh rank(plan, world, checkpointed_layers);
    courses[static_cast<size_t>(world.rank())] = rank.train(steps);
  });
  for (const HybridCourse& course : courses) {
    EXPECT_THAT(course.norms, Pointwise(NanSensitiveDoubleEq(), courses[0].norms));
    EXPECT_EQ(course.skipped, courses[0].skipped);
    if (course.logits.defined()) {
      courses[0].logits = course.logits;
    }
  }
  return courses[0];
}

struct Mesh3d {
  int64_t data, pipeline, tensor;
};

class HybridParallel : public ::testing::TestWithParam<Mesh3d> {
 protected:
  static job::VitPlan plan() { return plan_of(GetParam().data, GetParam().pipeline, GetParam().tensor); }
};

INSTANTIATE_TEST_SUITE_P(Meshes, HybridParallel,
                         ::testing::Values(Mesh3d{1, 1, 2}, Mesh3d{1, 2, 1}, Mesh3d{2, 1, 1}, Mesh3d{1, 2, 2},
                                           Mesh3d{2, 2, 1}, Mesh3d{2, 1, 2}, Mesh3d{1, 3, 1}, Mesh3d{1, 1, 4}),
                         [](const auto& info) {
                           return fmt::format("data{}_pipeline{}_tensor{}", info.param.data, info.param.pipeline,
                                              info.param.tensor);
                         });

void expect_same_course(const HybridCourse& got, const HybridCourse& want) {
  // A softmax does not see the bias of its keys: Adam makes steps out of what rounding leaves of a zero gradient.
  testing::expect_same_course(got, want, "key.bias");
  EXPECT_LE((got.logits - want.logits).abs().max().item<double>(), 1e-3);
}

TEST_P(HybridParallel, TrainsAsOneRank) {
  constexpr int64_t kSteps = 20;
  expect_same_course(train_on(plan(), kSteps), train_alone(kSteps));
}

TEST_P(HybridParallel, CheckpointedLayersChangeNothing) {
  constexpr int64_t kSteps = 4;
  expect_same_course(train_on(plan(), kSteps, /*checkpointed_layers=*/3), train_alone(kSteps));
}

TEST_P(HybridParallel, ShardsOptimizerStatesOverDataRanks) {
  constexpr int64_t kSteps = 4;
  job::VitPlan sharded = plan();
  sharded.knobs.zero_stage = 1;
  expect_same_course(train_on(sharded, kSteps), train_alone(kSteps));
}

/// Data ranks that shard everything, of which each has tensor ranks.
TEST(TensorRanksOfShards, TrainAsOneRank) {
  constexpr int64_t kSteps = 6;
  for (const char* plugin : {"FULL_SHARD", "SHARD_GRAD_OP"}) {
    job::VitPlan sharded = plan_of(2, 1, 2);
    sharded.plugin = plugin;
    sharded.knobs.prefetch = 1;
    expect_same_course(train_on(sharded, kSteps, /*checkpointed_layers=*/1), train_alone(kSteps));
  }
}

/// Tensor ranks that divide the tokens too: in micro-batches of 40, 20 and 10, of which four ranks do not have as many.
TEST(TokensOfTensorRanks, TrainAsOneRank) {
  constexpr int64_t kSteps = 6;
  const HybridCourse want = train_alone(kSteps);
  for (const Mesh3d& mesh : {Mesh3d{1, 1, 2}, Mesh3d{1, 2, 2}, Mesh3d{1, 2, 4}, Mesh3d{2, 1, 2}}) {
    SCOPED_TRACE(fmt::format("data {} pipeline {} tensor {}", mesh.data, mesh.pipeline, mesh.tensor));
    job::VitPlan plan = plan_of(mesh.data, mesh.pipeline, mesh.tensor);
    plan.knobs.sequence_parallel = true;
    expect_same_course(train_on(plan, kSteps, /*checkpointed_layers=*/1), want);
  }
  job::VitPlan sharded = plan_of(2, 1, 2);
  sharded.plugin = "FULL_SHARD";
  sharded.knobs.sequence_parallel = true;
  expect_same_course(train_on(sharded, kSteps), want);
}

TEST_P(HybridParallel, SixteenBitPrecisionsStayClose) {
  constexpr int64_t kSteps = 5;
  const HybridCourse want = train_alone(kSteps);
  for (const char* precision : {"bf16", "amp_fp16"}) {
    job::VitPlan rounded = plan();
    rounded.precision = precision;
    rounded.loss_scale = 1024;
    const HybridCourse got = train_on(rounded, kSteps);
    for (size_t i = 0; i < want.losses.size(); ++i) {
      EXPECT_NEAR(got.losses[i] / want.losses[i], 1.0, 0.02) << precision << ", step " << i;
    }
  }
}

TEST_P(HybridParallel, AllRanksSkipAStepThatOverflows) {
  job::VitPlan overflowing = plan();
  overflowing.precision = "amp_fp16";
  overflowing.loss_scale = 1e9;
  const HybridCourse course = train_on(overflowing, 2);
  EXPECT_TRUE(course.skipped[0]);
  EXPECT_TRUE(at::equal(course.weights.at("classifier.weight"), initial({"classifier.weight", {3, 32}})));
}

std::string refusal(const job::VitPlan& plan) {
  try {
    check_divides(plan, small_config());
  } catch (const StatusError& error) {
    return error.what();
  }
  return "";
}

TEST(ModelParts, RefusesWhatDoesNotDivide) {
  EXPECT_EQ(refusal(plan_of(1, 3, 4)), "");
  EXPECT_THAT(refusal(plan_of(1, 1, 3)), HasSubstr("4 attention heads do not divide by tp_size 3"));
  EXPECT_THAT(refusal(plan_of(1, 4, 1)), HasSubstr("3 layers are fewer than pp_size 4"));
}

TEST(ModelParts, HoldTheModelOnce) {
  const job::VitPlan plan = plan_of(1, 2, 2);
  std::map<std::string, std::vector<at::Tensor>> parts;
  for (int64_t rank = 0; rank < 4; ++rank) {
    ImageClassifierOptions options;
    take_part(place_of(plan, rank), small_config(), options);
    const ParameterSource source = [&](const ParameterSpec& spec) {
      return cut_for_rank(vit_split_rules(), spec.name, initial(spec), options.tensor);
    };
    for (const auto& [name, tensor] : Vit(small_config(), source, at::kFloat, options.part).parameters()) {
      parts[name].push_back(tensor);
    }
  }
  const Vit whole(small_config(), initial, at::kFloat);
  EXPECT_EQ(parts.size(), whole.parameters().size());
  for (const auto& [name, tensor] : whole.parameters()) {
    EXPECT_TRUE(at::equal(join_parts(vit_split_rules(), name, parts.at(name)), tensor)) << name;
  }
}

}  // namespace
}  // namespace assay::engine
