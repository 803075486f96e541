// Passes over memory: norms, SwiGLU, embedding and the thin products of LoRA. Arguments: dtype, tokens. As many tokens
// as a step has stay in the last-level cache of most machines; the larger number does not.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "bench_support.h"
#include "engine/kernels/low_rank.h"

namespace assay::engine::bench {
namespace {

double size_of(const at::Tensor& x) {
  return static_cast<double>(x.nbytes());
}

at::Tensor activations(benchmark::State& state, int64_t width) {
  return random({state.range(1), width}, dtype_of(state));
}

void add_rms_norm_forward(benchmark::State& state) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = activations(state, kHidden);
  const at::Tensor block = at::randn_like(x);
  const at::Tensor weight = random({kHidden}, x.scalar_type());
  for (auto _ : state) {
    benchmark::DoNotOptimize(add_rms_norm(x, block, weight, kEps));
  }
  count_bytes(state, 4 * size_of(x));
}

void add_rms_norm_backward(benchmark::State& state) {
  const at::Tensor x = activations(state, kHidden).set_requires_grad(true);
  const at::Tensor block = at::randn_like(x).set_requires_grad(true);
  const auto [sum, normed] = add_rms_norm(x, block, random({kHidden}, x.scalar_type()), kEps);
  const at::Tensor seed = at::randn_like(sum);
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({sum, normed}, {x, block}, {seed, seed}, /*retain_graph=*/true));
  }
  count_bytes(state, 4 * size_of(x));
}

void add_scaled_forward(benchmark::State& state) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = activations(state, kHidden);
  const at::Tensor block = at::randn_like(x);
  for (auto _ : state) {
    benchmark::DoNotOptimize(add_scaled(x, block, 0.22));
  }
  count_bytes(state, 3 * size_of(x));
}

void swiglu_forward(benchmark::State& state) {
  const at::NoGradGuard no_grad;
  const at::Tensor gate = activations(state, kIntermediate);
  const at::Tensor up = at::randn_like(gate);
  for (auto _ : state) {
    benchmark::DoNotOptimize(swiglu(gate, up));
  }
  count_bytes(state, 3 * size_of(gate));
}

void swiglu_backward(benchmark::State& state) {
  const at::Tensor gate = activations(state, kIntermediate).set_requires_grad(true);
  const at::Tensor up = at::randn_like(gate).set_requires_grad(true);
  const at::Tensor y = swiglu(gate, up);
  const at::Tensor seed = at::randn_like(y);
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({y}, {gate, up}, {seed}, /*retain_graph=*/true));
  }
  count_bytes(state, 5 * size_of(gate));
}

void embedding_forward(benchmark::State& state) {
  const at::NoGradGuard no_grad;
  const at::Tensor weight = random({kVocabulary, kHidden}, dtype_of(state));
  const at::Tensor ids = at::randint(kVocabulary, {state.range(1)}, at::kLong);
  for (auto _ : state) {
    benchmark::DoNotOptimize(engine::embedding(ids, weight));
  }
  count_bytes(state, 2.0 * static_cast<double>(state.range(1) * kHidden * weight.element_size()));
}

/// The gradient is as large as the table, and zero outside the rows of the batch.
void embedding_backward(benchmark::State& state) {
  const at::Tensor weight = random({kVocabulary, kHidden}, dtype_of(state)).set_requires_grad(true);
  const at::Tensor y = engine::embedding(at::randint(kVocabulary, {state.range(1)}, at::kLong), weight);
  const at::Tensor seed = at::randn_like(y);
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({y}, {weight}, {seed}, /*retain_graph=*/true));
  }
  count_bytes(state, size_of(weight) + 3 * size_of(y));
}

void lora_thin_products(benchmark::State& state) {
  constexpr int64_t kRank = 4;
  const at::Tensor x = activations(state, kHidden);
  const at::Tensor y = at::randn_like(x);
  const at::Tensor a = at::randn({kRank, kHidden});
  for (auto _ : state) {
    const at::Tensor low = project_down({x, {}}, a, 1.0);
    project_up(low, a, 1e-3, {y, {}});
    benchmark::DoNotOptimize(outer_sum(low, {x, {}}, 1.0));
  }
  count_bytes(state, 4 * size_of(x));
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgsProduct({{0, 1, 2}, {1302, 32768}});
  b->Unit(benchmark::kMicrosecond)->UseRealTime()->MeasureProcessCPUTime();
}
BENCHMARK(add_rms_norm_forward)->Apply(shapes);
BENCHMARK(add_rms_norm_backward)->Apply(shapes);
BENCHMARK(add_scaled_forward)->Apply(shapes);
BENCHMARK(swiglu_forward)->Apply(shapes);
BENCHMARK(swiglu_backward)->Apply(shapes);
BENCHMARK(embedding_forward)->Apply(shapes);
BENCHMARK(embedding_backward)->Apply(shapes);
BENCHMARK(lora_thin_products)->Apply(shapes);

}  // namespace
}  // namespace assay::engine::bench
