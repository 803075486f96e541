#include "engine/train/checkpoint_run/demo_transformer.h"

#include <ATen/core/Generator.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/functional/dropout.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/transformer.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

namespace assay::engine {
namespace {

// The module's defaults.
constexpr int64_t kVocabulary = 33278;
constexpr int64_t kWidth = 200;
constexpr int64_t kHeads = 2;
constexpr double kDropout = 0.2;
constexpr double kLearningRate = 0.1;

/// The sines and cosines of one position. The module adds those of position T to all T tokens.
at::Tensor position_encoding(int64_t position) {
  const at::Tensor scale = torch::exp(torch::arange(0, kWidth, 2).to(torch::kFloat) * (-std::log(10000.0) / kWidth));
  const at::Tensor angles = scale * static_cast<double>(position);
  return torch::stack({torch::sin(angles), torch::cos(angles)}, 1).flatten();
}

}  // namespace

struct DemoTransformer::Modules {
  explicit Modules(int64_t layers)
      : embedding(kVocabulary, kWidth),
        transformer(
            torch::nn::TransformerOptions(kWidth, kHeads, layers, layers).dim_feedforward(kWidth).dropout(kDropout)),
        decoder(kWidth, kVocabulary),
        position(position_encoding(DemoTransformer::kTokens)),
        mask(torch::nn::TransformerImpl::generate_square_subsequent_mask(DemoTransformer::kTokens)) {}

  /// [T, 1, width]: libtorch's Transformer has the batch second.
  at::Tensor embed(const at::Tensor& tokens) {
    const at::Tensor scaled = embedding->forward(tokens).unsqueeze(1) * std::sqrt(static_cast<double>(kWidth));
    return torch::nn::functional::dropout(scaled + position, torch::nn::functional::DropoutFuncOptions().p(kDropout));
  }

  at::Tensor loss_of(const at::Tensor& inputs, const at::Tensor& targets) {
    const at::Tensor hidden = transformer->forward(embed(inputs), embed(targets), {}, mask);
    const at::Tensor scores = torch::log_softmax(decoder->forward(hidden.squeeze(1)), -1);
    return torch::nn::functional::nll_loss(scores, targets);
  }

  torch::nn::Embedding embedding;
  torch::nn::Transformer transformer;
  torch::nn::Linear decoder;
  at::Tensor position;
  at::Tensor mask;
};

DemoTransformer::DemoTransformer(int64_t layers, uint64_t seed) {
  torch::manual_seed(seed);
  modules_ = std::make_unique<Modules>(layers);
  const auto add = [this](const std::string& prefix, const torch::nn::Module& module) {
    for (const auto& parameter : module.named_parameters()) {
      parameters_.emplace_back(prefix + parameter.key(), parameter.value());
    }
  };
  add("embedding.", *modules_->embedding);
  add("transformer.", *modules_->transformer);
  add("decoder.", *modules_->decoder);
}

DemoTransformer::~DemoTransformer() = default;

double DemoTransformer::step() {
  const at::Tensor tokens = torch::randint(0, kVocabulary, {kTokens + 1}, torch::kLong);
  const at::AutoGradMode with_gradients(true);
  const at::Tensor loss = modules_->loss_of(tokens.slice(0, 0, kTokens), tokens.slice(0, 1));
  loss.backward();
  const at::NoGradGuard no_grad;
  for (auto& [name, parameter] : parameters_) {
    parameter.add_(parameter.grad(), -kLearningRate);
    parameter.mutable_grad() = at::Tensor();
  }
  return loss.item<double>();
}

}  // namespace assay::engine
