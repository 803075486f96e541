// Every operation on a GPU against the same one on the CPU; skipped where there is no GPU.
#include <ATen/ATen.h>

#include <cmath>

#include "engine/kernels/memory.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/optimizer_step.h"
#include "engine/kernels/quantized_weight.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::kPrecisions;
using testing::make_batch;
using testing::Operation;
using testing::Precision;
using testing::relative_error;
using testing::Tensors;

at::Tensor on_gpu(const at::Tensor& x) {
  return x.defined() ? x.to(at::kCUDA) : x;
}

PackedBatch on_gpu(PackedBatch batch) {
  batch.ids_T = on_gpu(batch.ids_T);
  batch.positions_T = on_gpu(batch.positions_T);
  batch.row_offsets_R1 = on_gpu(batch.row_offsets_R1);
  return batch;
}

class Device : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) {
      GTEST_SKIP() << "no CUDA device";
    }
    at::manual_seed(11);
  }

  /// Outputs and gradients of `operation` on both devices, twice on the GPU: the same bits again.
  void expect_same(const Operation& operation, const Tensors& inputs, const std::vector<bool>& wants_grad,
                   const Precision& precision, const std::string& what) {
    Tensors moved;
    for (const at::Tensor& input : inputs) {
      moved.push_back(on_gpu(input));
    }
    const Tensors want = testing::run(operation, inputs, wants_grad, precision.dtype);
    const Tensors got = testing::run(operation, moved, wants_grad, precision.dtype);
    const Tensors again = testing::run(operation, moved, wants_grad, precision.dtype);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_LT(relative_error(got[i].cpu(), want[i]), 2 * precision.tolerance)
          << what << ": result " << i << ", " << at::toString(precision.dtype);
      EXPECT_TRUE(got[i].equal(again[i])) << what << ": result " << i << " differs from run to run";
    }
  }
};

TEST_F(Device, QuantisedWeights) {
  const at::Tensor weight_OI = at::randn({96, 160});
  for (const int64_t bits : {2, 3, 4, 8}) {
    const QuantizedTensors tensors = round_to_nearest(weight_OI, bits, 64);
    QuantizedTensors moved = round_to_nearest(on_gpu(weight_OI), bits, 64);
    EXPECT_TRUE(moved.words_WO.cpu().equal(tensors.words_WO)) << bits << " bits";
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
      const at::Tensor want = QuantizedWeight(tensors, dtype).dequantized();
      const at::Tensor got = QuantizedWeight(moved, dtype).dequantized();
      EXPECT_TRUE(got.cpu().equal(want)) << bits << " bits as " << dtype;
    }
  }
}

TEST_F(Device, ExpertsOperations) {
  for (const Precision& precision : kPrecisions) {
    for (const int64_t width : {33, 576}) {
      expect_same(
          [](const Tensors& in) -> Tensors { return {weighted_swiglu(in[0], in[1], in[2])}; },
          {at::randn({70, width}, at::kDouble), at::randn({70, width}, at::kDouble), at::rand({70}, at::kDouble)},
          {true, true, true}, precision, "weighted_swiglu");
    }
  }
}

TEST_F(Device, NormsAndElementwiseOperations) {
  for (const Precision& precision : kPrecisions) {
    for (const auto& [rows, width] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 8}, {7, 33}, {900, 576}, {3, 16384}}) {
      const at::Tensor x = at::randn({rows, width}, at::kDouble);
      const at::Tensor block = at::randn({rows, width}, at::kDouble);
      const at::Tensor weight = at::randn({width}, at::kDouble);
      expect_same([](const Tensors& in) -> Tensors { return {rms_norm(in[0], in[1], 1e-5)}; }, {x, weight},
                  {true, true}, precision, "rms_norm");
      expect_same(
          [](const Tensors& in) -> Tensors {
            const auto [sum, normed] = add_rms_norm(in[0], in[1], in[2], 1e-5, 0.22);
            return {sum, normed};
          },
          {x, block, weight}, {true, true, true}, precision, "add_rms_norm");
      expect_same(
          [](const Tensors& in) -> Tensors {
            const auto [sum, normed] = add_layer_norm(in[0], in[1], in[2], in[3], 1e-12);
            return {sum, normed, layer_norm(in[0], in[2], in[3], 1e-12)};
          },
          {x, block, weight, weight.flip(0)}, {true, true, true, true}, precision, "layer_norm");
      expect_same(
          [](const Tensors& in) -> Tensors { return {engine::gelu(in[0]), engine::gelu(in[0], GeluForm::kTanh)}; }, {x},
          {true}, precision, "gelu");
      expect_same([](const Tensors& in) -> Tensors { return {swiglu(in[0], in[1])}; }, {x, block}, {true, true},
                  precision, "swiglu");
      expect_same([](const Tensors& in) -> Tensors { return {add_scaled(in[0], in[1], 0.3)}; }, {x, block},
                  {true, true}, precision, "add_scaled");
    }
  }
}

TEST_F(Device, Embedding) {
  const at::Tensor ids = at::randint(0, 50, {5000}, at::kLong);
  for (const Precision& precision : kPrecisions) {
    expect_same([](const Tensors& in) -> Tensors { return {embedding(in[1], in[0], 12.0)}; },
                {at::randn({50, 40}, at::kDouble), ids}, {true, false}, precision, "embedding");
  }
}

TEST_F(Device, LinearLayers) {
  const Tensors inputs = {at::randn({130, 64}, at::kDouble), at::randn({96, 64}, at::kDouble),
                          at::randn({4, 64}, at::kDouble), at::randn({96, 4}, at::kDouble)};
  for (const Precision& precision : kPrecisions) {
    for (const bool frozen : {true, false}) {
      expect_same(
          [](const Tensors& in) -> Tensors {
            return {lora_linear(in[0], in[1], std::nullopt, {in[2].to(at::kFloat), in[3].to(at::kFloat), 0.5, 0.0})};
          },
          inputs, {true, !frozen, true, true}, precision, "lora_linear");
    }
  }
}

TEST_F(Device, LossOfOddAndEvenVocabularies) {
  for (const auto& [vocabulary, smoothing] : {std::pair<int64_t, double>{1000, 0}, {1003, 0}, {1003, 0.1}}) {
    const at::Tensor positions = at::arange(0, 90, 3, at::kLong);
    const at::Tensor targets = positions.mul(13).remainder(vocabulary);
    const Tensors inputs = {at::randn({90, 64}, at::kDouble), at::randn({vocabulary, 64}, at::kDouble) * 0.2};
    for (const Precision& precision : kPrecisions) {
      expect_same(
          [&](const Tensors& in) -> Tensors {
            return {linear_cross_entropy_sum(in[0], in[1], positions.to(in[0].device()), targets.to(in[0].device()),
                                             8.0, {}, 1.0, smoothing)};
          },
          inputs, {true, true}, precision, "loss");
    }
  }
}

TEST_F(Device, Attention) {
  struct Case {
    std::vector<int64_t> lengths;
    int64_t heads;
    int64_t groups;
    int64_t head_dim;
    int64_t window;
    bool causal = true;
  };
  const std::vector<Case> cases = {{{2}, 1, 1, 8, 0},
                                   {{1, 3}, 4, 2, 16, 0},
                                   {{200, 1, 77}, 6, 2, 64, 0},
                                   {{150, 20}, 4, 2, 24, 16},
                                   {{197, 1, 77}, 3, 3, 64, 0, false}};
  for (const Case& c : cases) {
    const PackedBatch batch = make_batch(c.lengths);
    const PackedBatch moved = on_gpu(batch);
    const at::Tensor angle = at::rand({batch.longest_row, c.head_dim / 2}) * 6;
    const AttentionOptions options{.query_heads = c.heads,
                                   .key_value_heads = c.groups,
                                   .head_dim = c.head_dim,
                                   .scale = 1.0 / std::sqrt(static_cast<double>(c.head_dim)),
                                   .sliding_window = c.window,
                                   .causal = c.causal};
    const auto operation = [&](const Tensors& in) -> Tensors {
      const bool gpu = in[0].is_cuda();
      const RotaryTable rotary{angle.cos().to(in[0].device()), angle.sin().to(in[0].device())};
      return {attention(in[0], in[1], in[2], gpu ? moved : batch, &rotary, options)};
    };
    const Tensors inputs = {at::randn({batch.tokens(), c.heads * c.head_dim}, at::kDouble),
                            at::randn({batch.tokens(), c.groups * c.head_dim}, at::kDouble),
                            at::randn({batch.tokens(), c.groups * c.head_dim}, at::kDouble)};
    for (const Precision& precision : kPrecisions) {
      expect_same(operation, inputs, {true, true, true}, precision,
                  "attention, first row " + std::to_string(c.lengths[0]));
    }
  }
}

TEST_F(Device, Updates) {
  for (const Precision& precision : kPrecisions) {
    for (const auto state : {precision.dtype, at::kFloat}) {
      std::vector<AdamwTensors> host;
      std::vector<AdamwTensors> gpu;
      for (int64_t i = 0; i < 70; ++i) {
        const int64_t count = i == 3 ? 100001 : i;
        host.push_back({at::randn({count}).to(precision.dtype), at::randn({count}).to(precision.dtype),
                        at::randn({count}).to(state), at::rand({count}).to(state), i % 2 == 0});
        const AdamwTensors& t = host.back();
        gpu.push_back(
            {on_gpu(t.parameter), on_gpu(t.gradient), on_gpu(t.first_moment), on_gpu(t.second_moment), t.decay});
      }
      const AdamwScalars scalars{.learning_rate = 0.1, .weight_decay = 0.3, .step = 2};
      adamw_step(host, scalars);
      adamw_step(gpu, scalars);
      sgd_step(host, 0.1, 0.2, {.scale = 0.5});
      sgd_step(gpu, 0.1, 0.2, {.scale = 0.5});
      for (size_t i = 1; i < host.size(); ++i) {
        EXPECT_LT(relative_error(gpu[i].parameter.cpu(), host[i].parameter), precision.tolerance);
        EXPECT_LT(relative_error(gpu[i].second_moment.cpu(), host[i].second_moment), precision.tolerance);
      }
    }
  }
}

TEST_F(Device, GradientNorm) {
  const Tensors host = {at::randn({100003}), at::randn({7}).to(at::kBFloat16), at::randn({33, 5}).to(at::kHalf),
                        at::empty({0})};
  Tensors gpu;
  for (const at::Tensor& x : host) {
    gpu.push_back(on_gpu(x));
  }
  EXPECT_NEAR(gradient_norm(gradient_stats(gpu)) / gradient_norm(gradient_stats(host)), 1.0, 1e-6);
}

TEST_F(Device, MemoryIsCountedAndLimited) {
  const at::Device device(at::kCUDA, 0);
  const auto bytes = at::TensorOptions().dtype(at::kByte).device(device);
  const at::Tensor first = at::empty({1 << 20}, bytes);
  const int64_t base = LiveTensorBytes();
  ResetPeakTensorBytes();
  {
    const at::Tensor block = at::empty({8 << 20}, bytes);
    EXPECT_EQ(LiveTensorBytes() - base, 8 << 20);
  }
  EXPECT_EQ(LiveTensorBytes(), base);
  EXPECT_EQ(PeakTensorBytes() - base, 8 << 20);
  EXPECT_GE(PeakReservedBytes(), PeakTensorBytes());
  SetMemoryBudget(int64_t{64} << 20, device);
  EXPECT_THROW(at::empty({int64_t{128} << 20}, bytes), c10::OutOfMemoryError);
  SetMemoryBudget(0, device);
  EXPECT_NO_THROW(at::empty({int64_t{128} << 20}, bytes));
}

}  // namespace
}  // namespace assay::engine
