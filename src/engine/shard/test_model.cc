#include "engine/shard/test_model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "engine/kernels/ops.h"

namespace assay::engine::testing {

TestModel::TestModel(const TestModelOptions& options, const ExpertPlace& place) : options_(options) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(options.seed);
  const auto make = [&](at::IntArrayRef shape) {
    return (at::randn(shape, generator, at::kFloat) * 0.2).to(options.device).requires_grad_();
  };
  const int64_t h = options.hidden;
  embedding_VH_ = make({options.vocabulary, h});
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back({at::ones({h}, options.device).requires_grad_(), make({2 * h, h}), make({2 * h, h}),
                       make({h, 2 * h}), options.unused && i == 1 ? make({5}) : at::Tensor(), make({h}),
                       Experts(i, options.experts, h, place)});
    layers_.back().gate_IH.requires_grad_(!options.frozen);
    layers_.back().up_IH.requires_grad_(!options.frozen);
  }
  norm_H_ = at::ones({h}, options.device).requires_grad_();
  if (!options.tied) {
    head_VH_ = make({options.vocabulary, h});
  }
}

std::vector<ParameterUnit> TestModel::units() {
  std::vector<ParameterUnit> units = {{"embedding", {{"embedding.weight", &embedding_VH_}}, {}}};
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    const std::string prefix = fmt::format("layers.{}.", i);
    ParameterUnit unit{fmt::format("layers.{}", i),
                       {{prefix + "norm.weight", &layer.norm_H}, {prefix + "down.bias", &layer.down_bias_H}},
                       {}};
    if (options_.experts > 0) {
      layer.experts.list(prefix, unit);
    } else {
      unit.parameters.insert(unit.parameters.end(), {{prefix + "gate.weight", &layer.gate_IH},
                                                     {prefix + "up.weight", &layer.up_IH},
                                                     {prefix + "down.weight", &layer.down_HI}});
    }
    if (options_.unused && i == 1) {
      unit.parameters.push_back({prefix + "unused.weight", &layer.unused});
    }
    units.push_back(unit);
  }
  ParameterUnit last{"head", {{"norm.weight", &norm_H_}}, {}};
  if (options_.tied) {
    last.also_uses = {0};
  } else {
    last.parameters.push_back({"head.weight", &head_VH_});
  }
  units.push_back(last);
  return units;
}

at::Tensor TestModel::loss(const at::Tensor& ids_T, const at::Tensor& targets_T) {
  const auto last = static_cast<int64_t>(layers_.size()) + 1;
  route(ids_T);
  enter(0, ids_T, false);
  const at::Tensor embedded = leave(0, engine::embedding(ids_T, embedding_VH_), false);
  LayerState state{embedded, at::zeros_like(embedded)};
  for (size_t i = options_.skip_layer ? 1 : 0; i < layers_.size(); ++i) {
    state =
        options_.checkpointed && at::GradMode::is_enabled()
            ? checkpointed([this, i, runs = 0](const LayerState& s) mutable { return run(i, s, runs++ > 0); }, state)
            : run(i, state, false).state;
  }
  const at::Tensor entry = enter(last, state.residual_TH, false);
  const at::Tensor normed = add_rms_norm(entry, state.block_TH, norm_H_, 1e-6).second;
  const at::Tensor sum =
      linear_cross_entropy_sum(normed, options_.tied ? embedding_VH_ : head_VH_, at::arange(ids_T.numel()), targets_T);
  return leave(last, sum / static_cast<double>(ids_T.numel()), false);
}

std::vector<NamedTensor> TestModel::parameters() {
  std::vector<NamedTensor> named;
  for (const ParameterUnit& unit : units()) {
    for (const ParameterRef& p : unit.parameters) {
      named.emplace_back(p.name, *p.tensor);
    }
  }
  return named;
}

at::Tensor TestModel::enter(int64_t unit, const at::Tensor& x, bool again) {
  return hooks_ == nullptr ? x : hooks_->before_forward(unit, x, again);
}

at::Tensor TestModel::leave(int64_t unit, const at::Tensor& x, bool again) {
  return hooks_ == nullptr ? x : hooks_->after_forward(unit, x, again);
}

void TestModel::route(const at::Tensor& ids_T) {
  if (options_.experts > 0) {
    expert_T_ = ids_T.remainder(unused_used_ ? options_.experts : options_.experts - 1);
  }
}

at::Tensor TestModel::mlp(const Layer& layer, const at::Tensor& x_TH) const {
  if (options_.experts > 0) {
    return layer.experts.forward(x_TH, expert_T_) + layer.down_bias_H;
  }
  const at::Tensor inner = swiglu(engine::linear(x_TH, layer.gate_IH, {}), engine::linear(x_TH, layer.up_IH, {}));
  return engine::linear(inner, layer.down_HI, layer.down_bias_H);
}

LayerResult TestModel::run(size_t index, const LayerState& input, bool again) {
  const Layer& layer = layers_[index];
  const auto unit = static_cast<int64_t>(index) + 1;
  const at::Tensor residual = enter(unit, input.residual_TH, again);
  const auto [entry, normed] = add_rms_norm(residual, input.block_TH, layer.norm_H, 1e-6);
  at::Tensor block = mlp(layer, normed);
  if (options_.unused && unused_used_ && index == 1) {
    block = block + layer.unused.sum();
  }
  return {{entry, leave(unit, block, again)}, entry};
}

TestBatch test_batch(const TestModelOptions& options, int64_t step, int64_t part) {
  constexpr int64_t kTokens = 12;
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(1000 * step + part + 1));
  const at::Tensor ids = at::randint(options.vocabulary, {kTokens + 1}, generator, at::kLong);
  return {ids.narrow(0, 0, kTokens).contiguous(), ((ids.narrow(0, 0, kTokens) * 3 + 1) % options.vocabulary)};
}

}  // namespace assay::engine::testing
