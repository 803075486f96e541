// Decoders with parts of their features on each rank against whole ones.
#include "engine/shard/tensor_parallel.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "architecture/model_config.h"
#include "engine/adapter/lora.h"
#include "engine/adapter/trainable.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/kernels/gradient_rule.h"
#include "engine/model/decoder.h"
#include "engine/model/random_parameter.h"
#include "engine/shard/sequence_parallel.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard/test_course.h"
#include "engine/shard/test_training.h"

namespace assay::engine {
namespace {

using testing::Course;
using testing::kOptimizer;

constexpr int64_t kRanks = 2;
constexpr int64_t kTokens = 13;  // of which one rank has six
constexpr double kMaxNorm = 0.5;
constexpr double kLearningRate = 3e-3;

struct Case {
  std::string name;
  std::string family_keys;  ///< of its config.json, beside those that all have
  bool lora = false;
  bool divides_tokens = false;
  bool one_sided = false;  ///< of six experts every token takes the first three, which one rank has
};

/// The router's rows and what they read of a token, so that the first half of the experts is chosen whatever the rest.
void take_sides(const std::string& name, const at::Tensor& whole) {
  if (name.ends_with(".router.layer.weight")) {
    whole.mul_(0.01);
    whole.narrow(0, 0, whole.size(0) / 2).select(1, 0).fill_(1);
    whole.narrow(0, whole.size(0) / 2, whole.size(0) / 2).select(1, 0).fill_(-1);
  } else if (name.ends_with("embed_tokens.weight")) {
    whole.select(1, 0).fill_(5);
  } else if (name.ends_with("post_attention_layernorm.weight")) {
    whole.select(0, 0).fill_(1);
  }
}

ModelConfig config_of(const Case& c) {
  return architecture::ParseModelConfig(
             R"({"vocab_size": 40, "hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32, "rms_norm_eps": 1e-6,
    "hidden_act": "silu", "tie_word_embeddings": true, )" +
                 c.family_keys + "}",
             "config.json")
      .value();
}

/// The rank's part of the model, which is all of it at the default place.
std::unique_ptr<Decoder> make_model(const Case& c, const TensorPlace& place = {}) {
  const ParameterSource source = [&](const ParameterSpec& spec) {
    // Biases that are zero would hide what is done to them.
    const ParameterSpec normal{spec.name, spec.shape};
    const at::Tensor whole = random_parameter(normal, 0.2, at::kFloat, 1);
    if (c.one_sided) {
      take_sides(spec.name, whole);
    }
    const at::Tensor part = cut_for_rank(decoder_split_rules(), spec.name, whole, place);
    return part.defined() ? part.clone().requires_grad_() : part;
  };
  auto model = std::make_unique<Decoder>(config_of(c), source);
  if (c.lora) {
    const job::LoraOptions options{.rank = 2, .alpha = 8, .dropout = 0.3, .target_modules = {"all-linear"}};
    apply_lora(*model, options, 7, place);
    // B starts at zero, with which A has no gradient.
    for (const auto& [name, tensor] : trainable_parameters(*model)) {
      if (name.ends_with(".lora_B.weight")) {
        const std::vector<int64_t> shape = whole_shape(decoder_split_rules(), name, tensor.sizes().vec(), place.ranks);
        const at::Tensor whole = random_parameter({name, shape}, 0.2, at::kFloat, 1);
        tensor.detach().copy_(cut_for_rank(decoder_split_rules(), name, whole, place));
      }
    }
  }
  return model;
}

at::Tensor loss_of(Decoder& model, int64_t step) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(step + 1));
  PackedBatch batch;
  batch.ids_T = at::randint(1, 40, {kTokens}, generator, at::kLong);
  batch.positions_T = at::arange(kTokens);
  batch.row_offsets = {0, kTokens};
  batch.row_offsets_R1 = at::tensor({0, static_cast<int>(kTokens)}, at::kInt);
  batch.longest_row = kTokens;
  batch.draw_keys_T = at::arange(kTokens) + 100 * step;
  batch.step_supervised = kTokens - 1;
  batch.supervised_positions_S = at::arange(kTokens - 1);
  batch.supervised_targets_S = batch.ids_T.narrow(0, 1, kTokens - 1).contiguous();
  return model.loss_sum(batch, 1.0 / (kTokens - 1)) / static_cast<double>(kTokens - 1);
}

std::unique_ptr<TensorParallel> join_ranks(const Case& c, Decoder& model, Communicator& ranks) {
  return c.divides_tokens ? std::make_unique<SequenceParallel>(model, ranks)
                          : std::make_unique<TensorParallel>(model, ranks);
}

using Gradients = std::map<std::string, at::Tensor>;

Gradients gradients_of(Decoder& model) {
  loss_of(model, 0).backward();
  Gradients gradients;
  for (const auto& [name, tensor] : trainable_parameters(model)) {
    gradients[name] = tensor.grad();
  }
  return gradients;
}

/// Of the whole model, out of those of all ranks; `shared` are those that each rank has a part of.
at::Tensor joined_gradient(const std::string& name, const std::vector<Gradients>& of_ranks,
                           const std::set<std::string>& shared) {
  std::vector<at::Tensor> parts;
  for (const Gradients& gradients : of_ranks) {
    if (const auto part = gradients.find(name); part != gradients.end()) {
      parts.push_back(part->second);
    }
  }
  return shared.contains(name) ? at::stack(parts).sum(0) : join_parts(decoder_split_rules(), name, parts);
}

std::set<std::string> names_of_shared(TensorParallel& tensor) {
  std::set<std::string> names;
  for (const ParameterUnit& unit : tensor.units()) {
    for (const ParameterRef& parameter : unit.parameters) {
      if (parameter.sums_gradient) {
        names.insert(parameter.name);
      }
    }
  }
  return names;
}

Course train_whole(const Case& c, int64_t steps) {
  const auto model = make_model(c);
  const std::vector<NamedTensor> parameters = trainable_parameters(*model);
  const auto optimizer = make_optimizer("adamw_torch", parameters, kOptimizer);
  Course course;
  for (int64_t step = 0; step < steps; ++step) {
    const at::Tensor loss = loss_of(*model, step);
    loss.backward();
    std::vector<at::Tensor> gradients;
    for (const auto& [name, tensor] : parameters) {
      gradients.push_back(tensor.grad());
    }
    const at::Tensor stats = gradient_stats(gradients);
    optimizer->step(kLearningRate, {.max_norm = kMaxNorm, .stats = stats});
    course.losses.push_back(loss.item<double>());
    course.norms.push_back(gradient_norm(stats));
    for (const auto& [name, tensor] : parameters) {
      tensor.mutable_grad() = at::Tensor();
    }
  }
  return course;
}

Course train_part(const Case& c, int64_t steps, Communicator& ranks) {
  const auto model = make_model(c, {ranks.rank(), ranks.size()});
  model->set_checkpointed_layers(2);
  const auto tensor = join_ranks(c, *model, ranks);
  ShardGroups groups;
  groups.model = &ranks;
  groups.tensor = &ranks;
  ShardEngine engine(*tensor, shard_policy("torch_ddp"), groups, kOptimizer);
  Course course;
  for (int64_t step = 0; step < steps; ++step) {
    const at::Tensor loss = loss_of(*model, step);
    engine.backward(loss);
    engine.step(kLearningRate, kMaxNorm);
    course.losses.push_back(loss.item<double>());
    course.norms.push_back(engine.last_step().gradient_norm);
  }
  return course;
}

class TensorParallelDecoder : public ::testing::TestWithParam<Case> {};

const std::string kLlama = R"("model_type": "llama", "attention_bias": true, "mlp_bias": true)";
const std::string kQwen2 = R"("model_type": "qwen2", "attention_dropout": 0.2)";
const std::string kQwen3 = R"("model_type": "qwen3", "head_dim": 10)";
const std::string kGptBigCode = R"("model_type": "gpt_bigcode", "n_inner": 32, "n_positions": 32, "attn_pdrop": 0.2,
    "embd_pdrop": 0.1, "resid_pdrop": 0.3)";
const std::string kBloom = R"("model_type": "bloom", "attention_dropout": 0.2, "hidden_dropout": 0.3)";
const std::string kMixtral = R"("model_type": "mixtral", "num_local_experts": 4)";
const std::string kGraniteMoe = R"("model_type": "granitemoe", "num_local_experts": 6, "num_experts_per_tok": 3)";
const std::string kMixtralRouterLoss = R"("model_type": "mixtral", "num_local_experts": 4,
    "output_router_logits": true, "router_aux_loss_coef": 0.5)";
const std::string kGraniteMoeRouterLoss = R"("model_type": "granitemoe", "num_local_experts": 6,
    "num_experts_per_tok": 3, "output_router_logits": true, "router_aux_loss_coef": 0.5)";
const std::string kGraniteHybrid = R"("model_type": "granitemoehybrid", "num_local_experts": 6,
    "num_experts_per_tok": 3, "layer_types": ["mamba", "attention", "mamba"], "shared_intermediate_size": 16,
    "mamba_n_heads": 6, "mamba_d_state": 8, "residual_multiplier": 0.5)";
const std::string kGraniteHybridRouterLoss =
    kGraniteHybrid + R"(, "output_router_logits": true, "router_aux_loss_coef": 0.5)";
const std::string kGraniteHybridDense = R"("model_type": "granitemoehybrid", "num_local_experts": 0,
    "layer_types": ["mamba", "attention", "mamba"], "shared_intermediate_size": 16, "mamba_n_heads": 6,
    "mamba_n_groups": 2, "mamba_d_state": 8, "output_router_logits": true, "router_aux_loss_coef": 0.5)";
const std::string kGranite = R"("model_type": "granite", "embedding_multiplier": 2.0, "attention_multiplier": 0.3,
    "residual_multiplier": 0.5, "logits_scaling": 3.0)";

INSTANTIATE_TEST_SUITE_P(
    Families, TensorParallelDecoder,
    ::testing::Values(Case{"llama", kLlama}, Case{"qwen2", kQwen2}, Case{"qwen3", kQwen3}, Case{"granite", kGranite},
                      Case{"llama_lora", kLlama, true}, Case{"qwen3_lora", kQwen3, true},
                      Case{"llama_tokens", kLlama, false, true}, Case{"qwen3_tokens", kQwen3, false, true},
                      Case{"granite_tokens", kGranite, false, true}, Case{"llama_lora_tokens", kLlama, true, true},
                      Case{"gpt_bigcode", kGptBigCode}, Case{"gpt_bigcode_lora", kGptBigCode, true},
                      Case{"gpt_bigcode_tokens", kGptBigCode, false, true},
                      Case{"gpt_bigcode_lora_tokens", kGptBigCode, true, true}, Case{"mixtral", kMixtral},
                      Case{"bloom", kBloom}, Case{"bloom_lora", kBloom, true},
                      Case{"bloom_tokens", kBloom, false, true}, Case{"bloom_lora_tokens", kBloom, true, true},
                      Case{"granitemoe", kGraniteMoe}, Case{"mixtral_tokens", kMixtral, false, true},
                      Case{"granitemoe_tokens", kGraniteMoe, false, true}, Case{"granitemoehybrid", kGraniteHybrid},
                      Case{"granitemoehybrid_lora", kGraniteHybrid, true},
                      Case{"granitemoehybrid_tokens", kGraniteHybrid, false, true},
                      Case{"granitemoehybrid_lora_tokens", kGraniteHybrid, true, true},
                      Case{"mixtral_router_loss", kMixtralRouterLoss},
                      Case{"granitemoe_router_loss_tokens", kGraniteMoeRouterLoss, false, true},
                      Case{"granitemoehybrid_router_loss", kGraniteHybridRouterLoss},
                      Case{"granitemoehybrid_router_loss_tokens", kGraniteHybridRouterLoss, false, true},
                      Case{"granitemoehybrid_dense", kGraniteHybridDense},
                      Case{"granitemoehybrid_dense_tokens", kGraniteHybridDense, false, true}),
    [](const auto& info) { return info.param.name; });

void expect_gradients_of_the_whole_model(const Case& c) {
  const Gradients whole = gradients_of(*make_model(c));
  std::vector<Gradients> of_ranks(kRanks);
  std::vector<std::set<std::string>> shared(kRanks);
  testing::run_ranks(make_thread_group(kRanks), [&](Communicator& ranks) {
    const auto rank = static_cast<size_t>(ranks.rank());
    const auto model = make_model(c, {ranks.rank(), ranks.size()});
    const auto tensor = join_ranks(c, *model, ranks);
    shared[rank] = names_of_shared(*tensor);
    of_ranks[rank] = gradients_of(*model);
  });
  EXPECT_EQ(of_ranks[0].size(), whole.size());
  for (const auto& [name, gradient] : whole) {
    // Sums in another order, of terms that cancel: up to 4e-5 was seen, by the processor.
    const double error = (joined_gradient(name, of_ranks, shared[0]) - gradient).abs().max().item<double>();
    EXPECT_LE(error, 1e-4 * gradient.abs().max().item<double>() + 1e-8) << name;
    if (split_of(decoder_split_rules(), name) == TensorSplit::kReplicated && !shared[0].contains(name)) {
      EXPECT_TRUE(at::equal(of_ranks[0].at(name), of_ranks[1].at(name))) << name;
    }
  }
}

TEST_P(TensorParallelDecoder, HasTheGradientsOfTheWholeModel) {
  expect_gradients_of_the_whole_model(GetParam());
}

TEST(TensorParallelExperts, ThatNobodyChoosesLeaveTheOthersTheirGradients) {
  for (const bool divides_tokens : {false, true}) {
    expect_gradients_of_the_whole_model({"", kGraniteMoe, false, divides_tokens, true});
  }
}

TEST(TensorParallelExperts, OfARankThatNobodyChoosesHaveGradientsOfZeros) {
  const Gradients gradients = gradients_of(*make_model({"", kGraniteMoe, false, false, true}));
  for (const auto& [name, gradient] : gradients) {
    if (name.ends_with("put_linear.weight")) {
      EXPECT_TRUE(gradient.narrow(0, 0, 3).any().item<bool>()) << name;
      EXPECT_FALSE(gradient.narrow(0, 3, 3).any().item<bool>()) << name;
    }
  }
}

TEST_P(TensorParallelDecoder, TrainsAsOneRank) {
  constexpr int64_t kSteps = 6;
  const Course want = train_whole(GetParam(), kSteps);
  std::vector<Course> courses(kRanks);
  testing::run_ranks(make_thread_group(kRanks), [&](Communicator& ranks) {
    courses[static_cast<size_t>(ranks.rank())] = train_part(GetParam(), kSteps, ranks);
  });
  EXPECT_EQ(courses[0].norms, courses[1].norms);
  testing::expect_same_course(courses[0], want);
}

}  // namespace
}  // namespace assay::engine
