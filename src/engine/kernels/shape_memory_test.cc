#include "engine/kernels/shape_memory.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <utility>

#include "engine/kernels/ceilings.h"
#include "engine/kernels/memory.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/products.h"

namespace assay::engine {
namespace {

constexpr int64_t kTokens = 200;
constexpr int64_t kWidth = 64;
constexpr int64_t kVocabulary = 1000;

/// Live bytes and peak beyond those before `work`.
struct Use {
  int64_t live = 0;
  int64_t peak = 0;
};

class ShapeMemoryTest : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  static void SetUpTestSuite() { InstallCountingAllocator(); }

  /// An embedding whose weight is the head too, a norm that two products read, and the loss: one step of it. What is
  /// left of it are the gradients.
  static std::vector<at::Tensor> step(c10::Device device) {
    const at::TensorOptions options = at::TensorOptions(GetParam()).device(device);
    const at::Tensor ids = at::arange(kTokens);
    const at::Tensor embedding_VH = at::zeros({kVocabulary, kWidth}, options).requires_grad_();
    const at::Tensor norm_H = at::ones({kWidth}, options).requires_grad_();
    const at::Tensor gate_HH = at::zeros({kWidth, kWidth}, options).requires_grad_();
    const at::Tensor up_HH = at::zeros({kWidth, kWidth}, options).requires_grad_();
    at::Tensor x_TH = engine::embedding(ids, embedding_VH);
    x_TH = at::where(ids.eq(3).unsqueeze(-1), x_TH.detach(), x_TH);
    const at::Tensor normed_TH = engine::rms_norm(x_TH, norm_H, 1e-5);
    const at::Tensor hidden_TH = swiglu(engine::linear(normed_TH, gate_HH, {}), engine::linear(normed_TH, up_HH, {}));
    const at::Tensor positions = ids.narrow(0, 0, kTokens / 2).to(device);
    const at::Tensor loss =
        linear_cross_entropy_sum(hidden_TH, embedding_VH, positions, ids.narrow(0, 1, kTokens / 2), 1.0, {}, 1.0);
    torch::autograd::backward({loss}, {at::ones_like(loss)});
    return {embedding_VH.grad(), norm_H.grad(), gate_HH.grad(), up_HH.grad()};
  }

  static Use on_cpu() {
    const at::Tensor ids = at::arange(kTokens);  // of the shapes they lie on the CPU, and are not counted
    ResetPeakTensorBytes();
    const int64_t before = LiveTensorBytes();
    const std::vector<at::Tensor> left = step(c10::kCPU);
    return {LiveTensorBytes() - before, PeakTensorBytes() - before};
  }

  /// What the step's largest product takes beside operands and result: libtorch's products of 16 bits have scratch of
  /// their own, as large as oneDNN's blocking wants, where the processor multiplies these.
  static int64_t scratch_of_products() {
    if (products_through_float32(GetParam())) {
      return 0;
    }
    const auto zeros = [](int64_t rows, int64_t columns) { return at::zeros({rows, columns}, GetParam()); };
    int64_t most = 0;
    for (const auto [rows, outputs] : {std::pair(kTokens, kWidth), std::pair(kTokens / 2, kVocabulary)}) {
      const at::Tensor x = zeros(rows, kWidth);
      const at::Tensor weight = zeros(outputs, kWidth);
      const at::Tensor y = zeros(rows, outputs);
      most = std::max({most, scratch([&] { return product_nt(x, weight); }),
                       scratch([&] { return product_nn(y, weight); }), scratch([&] { return product_tn(y, x); })});
    }
    return most;
  }

  /// What a step on shapes counts for it: of float16 about a MiB a thread, which small products do not fill.
  static int64_t foretold_scratch() {
    const bool counts = GetParam() == at::kHalf && !products_through_float32(GetParam());
    return counts ? at::get_num_threads() * (int64_t{1} << 20) : 0;
  }

  template <class Product>
  static int64_t scratch(Product product) {
    ResetPeakTensorBytes();
    const at::Tensor result = product();
    return PeakTensorBytes() - LiveTensorBytes();
  }

  static Use on_shapes() {
    const ShapeMemory memory;
    const int64_t before = memory.live_bytes();
    const std::vector<at::Tensor> left = step(c10::kMeta);
    return {memory.live_bytes() - before, memory.peak_bytes() - before};
  }
};

TEST_P(ShapeMemoryTest, AStepOnShapesCountsWhatTheStepTakes) {
  static_cast<void>(step(c10::kCPU));  // what threads and libraries take once
  const Use real = on_cpu();
  const Use foretold = on_shapes();
  constexpr int64_t kIndices = 3 * kTokens * sizeof(int64_t);
  EXPECT_EQ(foretold.live, real.live);
  EXPECT_GE(real.peak + foretold_scratch() + kIndices, foretold.peak);
  EXPECT_LE(real.peak, foretold.peak + scratch_of_products() + kIndices);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, ShapeMemoryTest, ::testing::Values(at::kFloat, at::kBFloat16, at::kHalf));

TEST(ShapeMemory, ForgetsWhatIsGone) {
  ShapeMemory memory;
  const int64_t before = memory.live_bytes();
  {
    const at::Tensor counted = at::empty({1000}, at::TensorOptions(at::kFloat).device(at::kMeta));
    EXPECT_EQ(memory.live_bytes() - before, 4000);
    const at::Tensor part = counted.narrow(0, 10, 10);
    const UncountedShapes pages;
    const at::Tensor page = at::empty({500}, at::TensorOptions(at::kFloat).device(at::kMeta));
    EXPECT_NE(page.data_ptr(), nullptr);
    EXPECT_EQ(memory.live_bytes() - before, 4000);
  }
  EXPECT_EQ(memory.live_bytes(), before);
  EXPECT_EQ(memory.peak_bytes() - before, 4000);
  memory.reset_peak();
  EXPECT_EQ(memory.peak_bytes(), before);
}

TEST(ShapeMemory, ScratchIsNoPartOfThePeak) {
  ShapeMemory memory;
  const auto floats = [](int64_t count) { return at::empty({count}, at::TensorOptions(at::kFloat).device(at::kMeta)); };
  const int64_t before = memory.live_bytes();
  at::Tensor kept;
  {
    const ScratchShapes scratch;
    kept = floats(10);
    {
      const at::Tensor first = floats(1000);
      const ScratchShapes within;
      floats(300);
      EXPECT_EQ(within.bytes(), 1200);
    }
    floats(1100);
    EXPECT_EQ(scratch.bytes(), 4400) << "what is kept is none";
  }
  EXPECT_EQ(memory.live_bytes() - before, 40);
  EXPECT_EQ(memory.peak_bytes() - before, 40);
}

}  // namespace
}  // namespace assay::engine
