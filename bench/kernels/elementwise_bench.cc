// Passes over memory: norms, SwiGLU, embedding and the thin products of LoRA. Argument: dtype.
#include <torch/csrc/autograd/autograd.h>

#include "bench_support.h"
#include "engine/kernels/low_rank.h"

namespace assay::engine::bench {
namespace {

constexpr int64_t kTokens = 1302;

double size_of(const at::Tensor& x) {
  return static_cast<double>(x.nbytes());
}

void add_rms_norm_forward(benchmark::State& state) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = random({kTokens, kHidden}, dtype_of(state.range(0)));
  const at::Tensor block = random({kTokens, kHidden}, x.scalar_type());
  const at::Tensor weight = random({kHidden}, x.scalar_type());
  for (auto _ : state) {
    benchmark::DoNotOptimize(add_rms_norm(x, block, weight, kEps));
  }
  count_bytes(state, 4 * size_of(x));
}

void add_rms_norm_backward(benchmark::State& state) {
  const at::Tensor x = random({kTokens, kHidden}, dtype_of(state.range(0))).set_requires_grad(true);
  const at::Tensor block = random({kTokens, kHidden}, x.scalar_type()).set_requires_grad(true);
  const auto [sum, normed] = add_rms_norm(x, block, random({kHidden}, x.scalar_type()), kEps);
  const at::Tensor seed = at::randn_like(sum);
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({sum, normed}, {x, block}, {seed, seed}, /*retain_graph=*/true));
  }
  count_bytes(state, 4 * size_of(x));
}

void swiglu_forward(benchmark::State& state) {
  const at::NoGradGuard no_grad;
  const at::Tensor gate = random({kTokens, kIntermediate}, dtype_of(state.range(0)));
  const at::Tensor up = random({kTokens, kIntermediate}, gate.scalar_type());
  for (auto _ : state) {
    benchmark::DoNotOptimize(swiglu(gate, up));
  }
  count_bytes(state, 3 * size_of(gate));
}

void swiglu_backward(benchmark::State& state) {
  const at::Tensor gate = random({kTokens, kIntermediate}, dtype_of(state.range(0))).set_requires_grad(true);
  const at::Tensor up = random({kTokens, kIntermediate}, gate.scalar_type()).set_requires_grad(true);
  const at::Tensor y = swiglu(gate, up);
  const at::Tensor seed = at::randn_like(y);
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({y}, {gate, up}, {seed}, /*retain_graph=*/true));
  }
  count_bytes(state, 5 * size_of(gate));
}

void lora_thin_products(benchmark::State& state) {
  constexpr int64_t kRank = 4;
  const at::Tensor x = random({kTokens, kHidden}, dtype_of(state.range(0)));
  const at::Tensor y = random({kTokens, kHidden}, x.scalar_type());
  const at::Tensor a = at::randn({kRank, kHidden});
  for (auto _ : state) {
    const at::Tensor low = project_down({x, {}}, a, 1.0);
    project_up(low, a, 1e-3, {y, {}});
    benchmark::DoNotOptimize(outer_sum(low, {x, {}}, 1.0));
  }
  count_bytes(state, 4 * size_of(x));
}

BENCHMARK(add_rms_norm_forward)
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK(add_rms_norm_backward)
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK(swiglu_forward)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(swiglu_backward)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(lora_thin_products)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond)->UseRealTime()->MeasureProcessCPUTime();

}  // namespace
}  // namespace assay::engine::bench
