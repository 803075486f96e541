// Optimiser passes over 64 Mi parameters. Arguments: dtype of parameters and gradients, 1 for float32 states.
#include "bench_support.h"
#include "engine/kernels/optimizer_step.h"

namespace assay::engine::bench {
namespace {

constexpr int64_t kParameters = int64_t{64} << 20;

void adamw(benchmark::State& state) {
  const at::ScalarType dtype = dtype_of(state);
  const at::ScalarType state_dtype = state.range(1) == 1 ? at::kFloat : dtype;
  const AdamwTensors t{at::ones({kParameters}, dtype), at::ones({kParameters}, dtype),
                       at::zeros({kParameters}, state_dtype), at::zeros({kParameters}, state_dtype)};
  for (auto _ : state) {
    adamw_step({t}, {.step = 2});
  }
  count_bytes(state, static_cast<double>(3 * t.parameter.nbytes() + 4 * t.first_moment.nbytes()));
}

/// Float32 masters and states, gradients of the dtype, and a copy of it.
void adamw_master(benchmark::State& state) {
  const at::ScalarType dtype = dtype_of(state);
  const AdamwTensors t{.parameter = at::ones({kParameters}),
                       .gradient = at::ones({kParameters}, dtype),
                       .first_moment = at::zeros({kParameters}),
                       .second_moment = at::zeros({kParameters}),
                       .copy = at::ones({kParameters}, dtype)};
  const GradientRule rule{.max_norm = 1.0, .skip_non_finite = true, .stats = gradient_stats({t.gradient})};
  for (auto _ : state) {
    adamw_step({t}, {.step = 2}, rule);
  }
  count_bytes(state, static_cast<double>(6 * t.parameter.nbytes() + t.gradient.nbytes() + t.copy.nbytes()));
}

void norm(benchmark::State& state) {
  const at::Tensor gradient = at::ones({kParameters}, dtype_of(state));
  for (auto _ : state) {
    benchmark::DoNotOptimize(gradient_norm(gradient_stats({gradient})));
  }
  count_bytes(state, static_cast<double>(gradient.nbytes()));
}

BENCHMARK(adamw)
    ->ArgsProduct({{0, 1, 2}, {0}})
    ->Args({1, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK(adamw_master)->DenseRange(1, 2)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(norm)->DenseRange(0, 2)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();

}  // namespace
}  // namespace assay::engine::bench
