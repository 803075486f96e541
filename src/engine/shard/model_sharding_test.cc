// The vision transformer and the decoder under the sharding engine.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "architecture/model_config.h"
#include "engine/adapter/lora.h"
#include "engine/adapter/trainable.h"
#include "engine/comm/local_communicator.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/kernels/gradient_rule.h"
#include "engine/model/decoder.h"
#include "engine/model/random_parameter.h"
#include "engine/model/vit.h"
#include "engine/shard/full_weights.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard/test_training.h"

namespace assay::engine {
namespace {

using testing::kOptimizer;
using testing::RankGroups;

constexpr int kSteps = 5;
constexpr int64_t kCheckpointedLayers = 2;  // of three
constexpr int kRanks = 2;
constexpr double kLearningRate = 3e-3;

Vit small_vit() {
  const VitConfig config = parse_vit_config(R"({"model_type": "vit", "image_size": 8, "patch_size": 4,
    "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 2,
    "id2label": {"0": "cat", "1": "dog", "2": "emu"}})",
                                            "config.json");
  const ParameterSource source = [](const ParameterSpec& spec) {
    return random_parameter(spec, 0.2, at::kFloat, 1).requires_grad_();
  };
  return Vit(config, source, at::kFloat);
}

at::Tensor loss_of(Vit& model, int step, int part) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(100 * step + part + 1));
  const at::Tensor pixels = at::randn({2, 3, 8, 8}, generator, at::kFloat);
  return model.loss(pixels, at::randint(3, {2}, generator, at::kLong));
}

ModelConfig small_decoder_config() {
  return architecture::ParseModelConfig(R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
    "vocab_size": 40, "hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 3, "num_attention_heads": 3,
    "num_key_value_heads": 1, "max_position_embeddings": 32, "rms_norm_eps": 1e-6, "hidden_act": "silu",
    "tie_word_embeddings": true, "torch_dtype": "float32"})",
                                        "config.json")
      .value();
}

at::Tensor small_decoder_parameter(const ParameterSpec& spec) {
  return random_parameter(spec, 0.2, at::kFloat, 1).requires_grad_();
}

Decoder small_decoder() {
  return Decoder(small_decoder_config(), small_decoder_parameter);
}

at::Tensor loss_of(Decoder& model, int step, int part) {
  constexpr int64_t kTokens = 10;
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(100 * step + part + 1));
  PackedBatch batch;
  batch.ids_T = at::randint(1, 40, {kTokens}, generator, at::kLong);
  batch.positions_T = at::arange(kTokens);
  batch.row_offsets = {0, kTokens};
  batch.row_offsets_R1 = at::tensor({0, static_cast<int>(kTokens)}, at::kInt);
  batch.longest_row = kTokens;
  batch.supervised_positions_S = at::arange(kTokens - 1);
  batch.supervised_targets_S = batch.ids_T.narrow(0, 1, kTokens - 1).contiguous();
  return model.loss_sum(batch, 1.0 / (kTokens - 1)) / static_cast<double>(kTokens - 1);
}

using Weights = std::map<std::string, at::Tensor>;

/// Frozen weights too.
struct Trained {
  Weights weights;
  std::set<std::string> frozen;
};

struct DecoderWithLora : Decoder {
  DecoderWithLora() : Decoder(small_decoder_config(), small_decoder_parameter) {
    apply_lora(*this, {.rank = 2, .alpha = 8, .dropout = 0, .target_modules = {"q_proj", "down_proj"}}, 7);
  }
};

DecoderWithLora small_decoder_with_lora() {
  return {};
}

std::vector<NamedTensor> trained(Vit& model) {
  return model.parameters();
}
std::vector<NamedTensor> trained(Decoder& model) {
  return trainable_parameters(model);
}

template <typename Model>
Trained train_plainly(Model model) {
  const std::vector<NamedTensor> parameters = trained(model);
  const auto optimizer = make_optimizer("adamw_torch", parameters, kOptimizer);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<at::Tensor> gradients;
    for (int part = 0; part < kRanks; ++part) {
      (loss_of(model, step, part) / static_cast<double>(kRanks)).backward();
    }
    for (const auto& [name, tensor] : parameters) {
      gradients.push_back(tensor.grad());
    }
    optimizer->step(kLearningRate, {.max_norm = 1.0, .stats = gradient_stats(gradients)});
    for (const auto& [name, tensor] : parameters) {
      tensor.mutable_grad() = at::Tensor();
    }
  }
  Trained result;
  for (const auto& named : {model.parameters(), parameters}) {
    for (const auto& [name, tensor] : named) {
      result.weights[name] = tensor.detach();
      if (!tensor.requires_grad()) {
        result.frozen.insert(name);
      }
    }
  }
  return result;
}

template <typename Model>
Weights train_sharded(const ShardPolicy& policy, Model (*make)()) {
  auto group = make_thread_group(kRanks);
  Weights weights;
  testing::run_ranks(group, [&](Communicator& world) {
    Model model = make();
    model.set_checkpointed_layers(kCheckpointedLayers);
    const RankGroups groups(world, policy.split);
    ShardEngine engine(model, policy, groups.groups, kOptimizer);
    for (int step = 0; step < kSteps; ++step) {
      engine.backward(loss_of(model, step, world.rank()));
      engine.step(kLearningRate, 1.0);
    }
    const auto full = full_weights(engine, world.rank() == 0);
    if (world.rank() == 0) {
      weights.insert(full.begin(), full.end());
    }
  });
  return weights;
}

void expect_same(const Weights& got, const Trained& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.weights.size()) << what;
  for (const auto& [name, tensor] : want.weights) {
    ASSERT_TRUE(got.contains(name)) << what << ": " << name;
    if (want.frozen.contains(name)) {
      EXPECT_TRUE(at::equal(got.at(name), tensor)) << what << ": " << name;
      continue;
    }
    // A softmax does not see the bias of its keys: Adam makes steps out of what rounding leaves of a zero gradient.
    if (name.ends_with("key.bias")) {
      continue;
    }
    const double error = (got.at(name) - tensor).norm().item<double>();
    EXPECT_LE(error, 1e-4 * tensor.norm().item<double>()) << what << ": " << name;
  }
}

template <typename Model>
void expect_every_strategy(Model (*make)()) {
  const Trained want = train_plainly(make());
  for (const ShardStrategy& strategy : shard_strategies()) {
    expect_same(train_sharded(with_precision(testing::small_policy(strategy.name), "fp32"), make), want,
                std::string(strategy.name));
  }
}

TEST(ModelSharding, VitTrainsAsOneRankUnderEveryStrategy) {
  expect_every_strategy(&small_vit);
}

TEST(ModelSharding, DecoderWithATiedHeadTrainsAsOneRankUnderEveryStrategy) {
  expect_every_strategy(&small_decoder);
}

TEST(ModelSharding, AdaptersOnAFrozenDecoderTrainAsOnOneRankUnderEveryStrategy) {
  expect_every_strategy(&small_decoder_with_lora);
}

/// The gradients of rank `world.rank()`'s shards against those of one rank.
template <typename Model>
void expect_gradients(Communicator& world, const ShardPolicy& policy, Model (*make)(),
                      const std::map<std::string, at::Tensor>& want) {
  Model model = make();
  model.set_checkpointed_layers(kCheckpointedLayers);
  const RankGroups groups(world, policy.split);
  ShardEngine engine(model, policy, groups.groups, kOptimizer);
  engine.backward(loss_of(model, 0, world.rank()));
  std::set<std::string> seen;
  for (const FlatGroup* group : engine.optimizer().groups()) {
    const FlatLayout& layout = group->weights.layout();
    for (const ShardSlice& slice : layout.slices(world.rank())) {
      const std::string& name = layout.parameters()[slice.parameter].name;
      const at::Tensor got = group->gradients->reduced().narrow(0, slice.in_shard, slice.elements);
      const at::Tensor whole = want.at(name).flatten();
      const double error = (got - whole.narrow(0, slice.in_parameter, slice.elements)).norm().item<double>();
      EXPECT_LE(error, 1e-5 * whole.norm().item<double>() + 1e-8) << name << " of rank " << world.rank();
      seen.insert(name);
    }
  }
  EXPECT_GT(seen.size(), want.size() / kRanks - 1);
}

template <typename Model>
void expect_every_gradient(Model (*make)()) {
  Model model = make();
  for (int part = 0; part < kRanks; ++part) {
    (loss_of(model, 0, part) / static_cast<double>(kRanks)).backward();
  }
  std::map<std::string, at::Tensor> want;
  for (const auto& [name, tensor] : trained(model)) {
    want[name] = tensor.grad();
  }
  for (const char* strategy : {"gemini", "gemini_auto"}) {
    const ShardPolicy policy = with_precision(testing::small_policy(strategy), "fp32");
    testing::run_ranks(make_thread_group(kRanks),
                       [&](Communicator& world) { expect_gradients(world, policy, make, want); });
  }
}

TEST(ModelSharding, EveryGradientThroughChunksIsThatOfOneRank) {
  expect_every_gradient(&small_vit);
  expect_every_gradient(&small_decoder);
  expect_every_gradient(&small_decoder_with_lora);
}

/// Mebibytes by kind at the peak of a step of ViT-B/16 with 1000 classes, foretold.
MemoryByKind forecast_of_vit_b(const char* strategy, const char* precision, int ranks) {
  const ShardPolicy policy = with_precision(shard_policy(strategy), precision);
  const VitConfig config =
      with_labels(parse_vit_config(R"({"model_type": "vit"})", "config.json"), std::vector<std::string>(1000, "label"));
  const ParameterSource source = [](const ParameterSpec& spec) {
    return at::empty(spec.shape, at::TensorOptions().device(at::kMeta)).requires_grad_();
  };
  Vit model(config, source, at::kFloat);
  const auto group = make_fake_communicator({.rank = 0, .size = ranks});
  const bool splits = policy.split != SplitOver::kNobody;
  ShardEngine engine(model, policy, {splits ? group.get() : nullptr, splits ? nullptr : group.get()}, kOptimizer);
  engine.ledger().reset_peak();
  engine.rehearse_step();
  MemoryByKind mib = engine.ledger().peak().by_kind;
  for (int64_t& bytes : mib) {
    bytes >>= 20;
  }
  return mib;
}

TEST(ModelSharding, ForecastsOfVitBAreThoseOfItsSize) {
  // 86,567,656 parameters: 330.2 MiB in float32, 165.1 MiB in 16 bits. In the order of MemoryKind.
  EXPECT_EQ(forecast_of_vit_b("torch_ddp", "fp32", 1), (MemoryByKind{330, 330, 0, 660, 0, 0}));
  EXPECT_EQ(forecast_of_vit_b("torch_ddp", "fp32", 4), (MemoryByKind{330, 330, 0, 660, 0, 0}));
  EXPECT_EQ(forecast_of_vit_b("low_level_zero", "fp16", 1), (MemoryByKind{165, 165, 330, 660, 0, 0}));
  const MemoryByKind gemini = forecast_of_vit_b("gemini", "fp16", 1);
  EXPECT_EQ(gemini[0], 165) << "two chunks of 43,297,792 elements";
  EXPECT_EQ(gemini[1] + gemini[2] + gemini[3], 0) << "states and gradients are in host memory";
  EXPECT_EQ(gemini[4], 165) << "gradients of two chunks, which the layer in the middle has parts of both of";
  const MemoryByKind full_shard = forecast_of_vit_b("FULL_SHARD", "fp32", 4);
  EXPECT_EQ(full_shard[3], 165) << "moments: a quarter of 660 MiB";
  EXPECT_LE(full_shard[0], 83 + 4 * 28) << "parameters: a quarter and a few of the 27 MiB layers";
}

}  // namespace
}  // namespace assay::engine
