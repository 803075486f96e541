// Compares an operation and its gradients with a plain libtorch composition computed in float64.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cuda/host_launch.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/packed_batch.h"

namespace assay::engine::testing {

using Tensors = std::vector<at::Tensor>;
using Operation = std::function<Tensors(const Tensors&)>;

/// A dtype and the relative error (Euclidean) that its arithmetic allows.
struct Precision {
  at::ScalarType dtype;
  double tolerance;
};

inline const std::vector<Precision> kPrecisions = {{at::kFloat, 1e-5}, {at::kBFloat16, 1.2e-2}, {at::kHalf, 2e-3}};

inline at::Tensor random(at::IntArrayRef sizes, uint64_t seed = 1) {
  at::manual_seed(seed);
  return at::randn(sizes, at::kDouble);
}

inline double relative_error(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor g = got.detach().to(at::kDouble);
  const at::Tensor w = want.detach().to(at::kDouble);
  const double scale = w.norm().item<double>();
  const double distance = (g - w).norm().item<double>();
  return scale > 0.0 ? distance / scale : distance;
}

/// Outputs and then the gradient of every input that asks for one.
inline Tensors run(const Operation& operation, const Tensors& inputs, const std::vector<bool>& wants_grad,
                   at::ScalarType dtype) {
  Tensors leaves;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool floating = at::isFloatingType(inputs[i].scalar_type());
    leaves.push_back(floating ? inputs[i].detach().to(dtype).clone() : inputs[i]);
    leaves[i].set_requires_grad(wants_grad[i]);
  }
  Tensors results = operation(leaves);
  Tensors roots;
  Tensors seeds;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].requires_grad()) {
      roots.push_back(results[i]);
      at::manual_seed(1000 + i);
      seeds.push_back(at::randn(results[i].sizes(), at::kDouble).to(at::kBFloat16).to(results[i].options()));
    }
  }
  if (!roots.empty()) {
    torch::autograd::backward(roots, seeds);
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (wants_grad[i]) {
      EXPECT_TRUE(leaves[i].grad().defined()) << "input " << i << " got no gradient";
      results.push_back(leaves[i].grad());
    }
  }
  return results;
}

#ifdef ASSAY_CUDA_BODIES_ON_HOST
/// CUDA's row with the CPU's operations where it has libtorch's: those want a GPU.
inline const Operations& cuda_row_on_host() {
  static const Operations row = [] {
    Operations mixed = cuda::kOperations;
    mixed.embedding_forward = cpu::embedding_forward;
    mixed.embedding_backward = cpu::embedding_backward;
    mixed.product = cpu::product;
    mixed.add_product = cpu::add_product;
    mixed.column_sums = cpu::column_sums;
    mixed.attention = cpu::attention;
    return mixed;
  }();
  return row;
}

/// Runs the test body with the bodies of the CUDA kernels in place of the CPU's kernels, by a team of `threads`.
inline void with_cuda_bodies(const std::function<void()>& body, int64_t threads = 1) {
  const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                     std::string("CUDA bodies on a team of ").append(std::to_string(threads)));
  use_operations_on_cpu(&cuda_row_on_host());
  cuda::set_host_team(threads);
  body();
  use_operations_on_cpu(nullptr);
}
#else
inline void with_cuda_bodies(const std::function<void()>&) {}
#endif

/// Runs the test body once for every instruction set that this processor has, and with the bodies of the CUDA kernels.
inline void for_each_isa(const std::function<void()>& body) {
  const char* before = cpu_kernels().isa;
  for (const char* isa : {"portable", "avx2", "avx512", "avx512bf16"}) {
    if (force_cpu_isa(isa)) {
      body();
    }
  }
  force_cpu_isa(before);
  with_cuda_bodies(body);
}

/// Inputs are float64; they are rounded to the dtype under test first, so that both sides see the same numbers.
/// The reference is computed once and held against the operation on every instruction set that this processor has.
inline void expect_matches(const Operation& ours, const Operation& reference, const Tensors& inputs,
                           const std::vector<bool>& wants_grad, const Precision& precision,
                           const std::string& what = "") {
  Tensors rounded;
  for (const at::Tensor& input : inputs) {
    rounded.push_back(at::isFloatingType(input.scalar_type()) ? input.to(precision.dtype).to(at::kDouble) : input);
  }
  const Tensors want = run(reference, rounded, wants_grad, at::kDouble);
  for_each_isa([&] {
    const Tensors got = run(ours, rounded, wants_grad, precision.dtype);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_LT(relative_error(got[i], want[i]), precision.tolerance)
          << what << ": result " << i << ", " << at::toString(precision.dtype) << ", " << cpu_kernels().isa;
    }
  });
}

/// A batch of rows of the given lengths; ids count up, `supervised` of the positions carry a target.
inline PackedBatch make_batch(const std::vector<int64_t>& lengths, int64_t vocabulary = 100) {
  PackedBatch batch;
  batch.row_offsets = {0};
  std::vector<int64_t> positions;
  for (const int64_t length : lengths) {
    batch.row_offsets.push_back(batch.row_offsets.back() + length);
    batch.longest_row = std::max(batch.longest_row, length);
    for (int64_t i = 0; i < length; ++i) {
      positions.push_back(i);
    }
  }
  const auto tokens = static_cast<int64_t>(positions.size());
  batch.positions_T = at::tensor(positions, at::kLong);
  batch.ids_T = at::arange(tokens, at::kLong).remainder(vocabulary);
  batch.row_offsets_R1 = at::tensor(batch.row_offsets, at::kLong).to(at::kInt);
  return batch;
}

}  // namespace assay::engine::testing
