#include "engine/model/gradient_checkpointing.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <memory>
#include <stdexcept>

namespace assay::engine {
namespace {

/// A small layer: r = residual + block; block' = r W.
struct Layer {
  at::Tensor weight = at::randn({4, 4}).requires_grad_();
  int runs = 0;

  LayerResult operator()(const LayerState& input) {
    ++runs;
    const at::Tensor entry = input.block_TH.defined() ? input.residual_TH + input.block_TH : input.residual_TH;
    return {{entry, at::mm(entry, weight)}, entry};
  }
};

void backward_of(const LayerState& state) {
  torch::autograd::backward({(state.residual_TH * 3).sum() + state.block_TH.square().sum()}, {});
}

LayerFunction by_reference(Layer& layer) {
  return [&layer](const LayerState& input) { return layer(input); };
}

TEST(GradientCheckpointingTest, GradientsAreTheSameToTheBit) {
  Layer layer;
  const at::Tensor residual = at::randn({5, 4}).requires_grad_();
  const at::Tensor block = at::randn({5, 4}).requires_grad_();
  backward_of(layer({residual, block}).state);
  const at::Tensor expected[] = {residual.grad().clone(), block.grad().clone(), layer.weight.grad().clone()};
  for (const at::Tensor& tensor : {residual, block, layer.weight}) {
    tensor.mutable_grad().reset();
  }
  layer.runs = 0;
  backward_of(checkpointed(by_reference(layer), {residual, block}));
  EXPECT_EQ(layer.runs, 2);
  EXPECT_TRUE(residual.grad().equal(expected[0]));
  EXPECT_TRUE(block.grad().equal(expected[1]));
  EXPECT_TRUE(layer.weight.grad().equal(expected[2]));
}

TEST(GradientCheckpointingTest, AFrozenInputGetsNoGradient) {
  Layer layer;
  const at::Tensor residual = at::randn({5, 4});
  backward_of(checkpointed(by_reference(layer), {residual, {}}));
  EXPECT_TRUE(layer.weight.grad().defined());
  EXPECT_FALSE(residual.grad().defined());
}

TEST(GradientCheckpointingTest, LetsTheLayerGoWithTheGraph) {
  auto layer = std::make_shared<Layer>();
  {
    const at::Tensor residual = at::randn({5, 4}).requires_grad_();
    const LayerState state = checkpointed([layer](const LayerState& input) { return (*layer)(input); }, {residual, {}});
    EXPECT_EQ(layer.use_count(), 2);
  }
  EXPECT_EQ(layer.use_count(), 1);
}

TEST(GradientCheckpointingTest, PassesOnWhatTheLayerThrowsInBackward) {
  Layer layer;
  int runs = 0;
  const auto failing = [&](const LayerState& input) {
    if (++runs == 2) {
      throw std::runtime_error("no memory");
    }
    return layer(input);
  };
  const at::Tensor residual = at::randn({5, 4}).requires_grad_();
  const LayerState state = checkpointed(failing, {residual, {}});
  EXPECT_THROW(backward_of(state), std::runtime_error);
}

}  // namespace
}  // namespace assay::engine
