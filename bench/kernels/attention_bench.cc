// Attention over packed rows. Arguments: dtype, rows, tokens in each row.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "bench_support.h"

namespace assay::engine::bench {
namespace {

struct Inputs {
  PackedBatch batch;
  RotaryTable rotary;
  at::Tensor q, k, v;
};

Inputs make_inputs(benchmark::State& state) {
  Inputs in;
  in.batch = make_batch(std::vector<int64_t>(state.range(1), state.range(2)));
  in.rotary = make_rotary(in.batch.longest_row);
  const at::ScalarType dtype = dtype_of(state);
  in.q = random({in.batch.tokens(), kHeads * kHeadDim}, dtype).set_requires_grad(true);
  in.k = random({in.batch.tokens(), kGroups * kHeadDim}, dtype).set_requires_grad(true);
  in.v = random({in.batch.tokens(), kGroups * kHeadDim}, dtype).set_requires_grad(true);
  return in;
}

/// Operations of `products` products over the causal half of the scores.
double flops(const benchmark::State& state, int products) {
  const auto length = static_cast<double>(state.range(2));
  return products * 2.0 * static_cast<double>(state.range(1) * kHeads * kHeadDim) * length * length / 2;
}

void attention_forward(benchmark::State& state) {
  const Inputs in = make_inputs(state);
  const at::NoGradGuard no_grad;
  for (auto _ : state) {
    benchmark::DoNotOptimize(attention(in.q, in.k, in.v, in.batch, &in.rotary, attention_options()));
  }
  count_flops(state, flops(state, 2));
}

void attention_backward(benchmark::State& state) {
  const Inputs in = make_inputs(state);
  const at::Tensor out = attention(in.q, in.k, in.v, in.batch, &in.rotary, attention_options());
  const at::Tensor seed = at::randn_like(out);
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({out}, {in.q, in.k, in.v}, {seed}, /*retain_graph=*/true));
  }
  count_flops(state, flops(state, 5));
}

void shapes(benchmark::internal::Benchmark* b) {
  for (const int64_t dtype : {0, 1, 2}) {
    b->Args({dtype, 4, 325})->Args({dtype, 4, 512})->Args({dtype, 1, 2048});
  }
  b->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
}
BENCHMARK(attention_forward)->Apply(shapes);
BENCHMARK(attention_backward)->Apply(shapes);

}  // namespace
}  // namespace assay::engine::bench
