// The matrix products of one layer and of the head, and the head's loss. Arguments: dtype, tokens, in, out.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "bench_support.h"
#include "engine/kernels/products.h"

namespace assay::engine::bench {
namespace {

struct Operands {
  at::Tensor x_MI, w_OI, y_MO;
};

Operands make_operands(benchmark::State& state) {
  const at::ScalarType dtype = dtype_of(state);
  count_flops(state, 2.0 * static_cast<double>(state.range(1) * state.range(2) * state.range(3)));
  return {random({state.range(1), state.range(2)}, dtype), random({state.range(3), state.range(2)}, dtype),
          random({state.range(1), state.range(3)}, dtype)};
}

LoraTensors make_lora(const benchmark::State& state) {
  constexpr int64_t kRank = 4;
  return {at::randn({kRank, state.range(2)}).set_requires_grad(true),
          at::randn({state.range(3), kRank}).set_requires_grad(true), 4.0, 0.0};
}

void forward(benchmark::State& state) {
  const Operands o = make_operands(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(product_nt(o.x_MI, o.w_OI));
  }
}

void grad_input(benchmark::State& state) {
  const Operands o = make_operands(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(product_nn(o.y_MO, o.w_OI));
  }
}

void grad_weight(benchmark::State& state) {
  const Operands o = make_operands(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(product_tn(o.y_MO, o.x_MI));
  }
}

/// q_proj with its adapter as one operation: the frozen product and the thin ones beside it.
void lora_linear_forward(benchmark::State& state) {
  const at::NoGradGuard no_grad;
  const Operands o = make_operands(state);
  const LoraTensors lora = make_lora(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(lora_linear(o.x_MI, o.w_OI, {}, lora));
  }
}

void lora_linear_backward(benchmark::State& state) {
  const Operands o = make_operands(state);
  const LoraTensors lora = make_lora(state);
  const at::Tensor x = o.x_MI.set_requires_grad(true);
  const at::Tensor y = lora_linear(x, o.w_OI, {}, lora);
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({y}, {x, lora.a_rI, lora.b_Or}, {o.y_MO}, /*retain_graph=*/true));
  }
}

void head_and_loss(benchmark::State& state) {
  const at::ScalarType dtype = dtype_of(state);
  const PackedBatch batch = make_batch(kRows);
  const at::Tensor hidden = random({batch.tokens(), kHidden}, dtype).set_requires_grad(true);
  at::Tensor weight = random({kVocabulary, kHidden}, dtype);
  weight.set_requires_grad(state.range(1) == 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        linear_cross_entropy_sum(hidden, weight, batch.supervised_positions_S, batch.supervised_targets_S));
  }
  const double products = state.range(1) == 1 ? 3.0 : 2.0;
  count_flops(state, products * 2.0 * static_cast<double>(batch.supervised() * kHidden * kVocabulary));
}

void shapes(benchmark::internal::Benchmark* b) {
  constexpr int64_t kTokens = 1302;
  for (const int64_t dtype : {0, 1, 2}) {
    b->Args({dtype, kTokens, kHidden, kHidden})->Args({dtype, kTokens, kHidden, kGroups * kHeadDim});
    b->Args({dtype, kTokens, kHidden, kIntermediate})->Args({dtype, kTokens, kIntermediate, kHidden});
  }
  b->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
}
BENCHMARK(forward)->Apply(shapes);
BENCHMARK(grad_input)->Apply(shapes);
BENCHMARK(grad_weight)->Apply(shapes);
BENCHMARK(lora_linear_forward)->Apply(shapes);
BENCHMARK(lora_linear_backward)->Apply(shapes);
BENCHMARK(head_and_loss)
    ->ArgsProduct({{0, 1, 2}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace assay::engine::bench
