// The scan of a Mamba-2 layer of Granite 4.0 H-Tiny. Arguments: dtype, rows, tokens in each row.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "bench_support.h"
#include "engine/kernels/state_space.h"

namespace assay::engine::bench {
namespace {

constexpr StateSpace kSpace{.heads = 48, .head_dim = 64, .groups = 1, .state = 128};

struct Inputs {
  std::vector<int64_t> row_offsets = {0};
  at::Tensor xbc, step;
  StateSpaceParameters parameters;

  std::vector<at::Tensor> all() const {
    return {xbc, step, parameters.step_bias_N, parameters.decay_log_N, parameters.skip_N};
  }
};

Inputs make_inputs(benchmark::State& state) {
  Inputs in;
  for (int64_t row = 0; row < state.range(1); ++row) {
    in.row_offsets.push_back(in.row_offsets.back() + state.range(2));
  }
  const at::ScalarType dtype = dtype_of(state);
  const auto input = [&](at::IntArrayRef sizes) { return random(sizes, dtype).set_requires_grad(true); };
  in.xbc = input({in.row_offsets.back(), kSpace.heads * kSpace.head_dim + 2 * kSpace.state});
  in.step = input({in.row_offsets.back(), kSpace.heads});
  in.parameters = {input({kSpace.heads}), input({kSpace.heads}), input({kSpace.heads})};
  return in;
}

void count_tokens(benchmark::State& state, const Inputs& in) {
  const auto tokens = static_cast<double>(in.row_offsets.back());
  state.counters["tokens/s"] = benchmark::Counter(tokens, benchmark::Counter::kIsIterationInvariantRate);
}

void scan_forward(benchmark::State& state) {
  const Inputs in = make_inputs(state);
  const at::NoGradGuard no_grad;
  for (auto _ : state) {
    benchmark::DoNotOptimize(selective_scan(in.xbc, in.step, in.parameters, kSpace, in.row_offsets));
  }
  count_tokens(state, in);
}

void scan_backward(benchmark::State& state) {
  const Inputs in = make_inputs(state);
  const at::Tensor out = selective_scan(in.xbc, in.step, in.parameters, kSpace, in.row_offsets);
  const at::Tensor seed = at::randn_like(out);
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({out}, in.all(), {seed}, /*retain_graph=*/true));
  }
  count_tokens(state, in);
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->Args({0, 1, 1024})->Args({0, 8, 128})->Args({1, 1, 1024});
  bench->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
}
BENCHMARK(scan_forward)->Apply(shapes);
BENCHMARK(scan_backward)->Apply(shapes);

}  // namespace
}  // namespace assay::engine::bench
