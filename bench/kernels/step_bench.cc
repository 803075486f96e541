// Forward and backward of a whole SmolLM2-135M-shaped decoder out of the engine's operations: what a training step
// costs before the optimiser. Argument: dtype (0 float32, 1 bfloat16, 2 float16).
#include <torch/csrc/autograd/autograd.h>

#include "bench_support.h"
#include "engine/kernels/memory.h"

namespace assay::engine::bench {
namespace {

struct Layer {
  at::Tensor q, k, v, o, gate, up, down, norm1, norm2;
  LoraTensors lora_q, lora_v;
};

struct Decoder {
  at::Tensor embed_VH;
  at::Tensor norm_H;
  std::vector<Layer> layers;
  std::vector<at::Tensor> trainable;
  bool lora = false;
};

LoraTensors make_lora(Decoder& decoder, int64_t in, int64_t out) {
  constexpr int64_t kRank = 4;
  LoraTensors lora{at::randn({kRank, in}).mul_(0.05), at::randn({out, kRank}).mul_(0.05), 4.0, 0.0};
  decoder.trainable.push_back(lora.a_rI.set_requires_grad(true));
  decoder.trainable.push_back(lora.b_Or.set_requires_grad(true));
  return lora;
}

Decoder make_decoder(bool lora, at::ScalarType dtype) {
  Decoder decoder;
  decoder.lora = lora;
  const auto weight = [&](at::IntArrayRef sizes) {
    at::Tensor w = random(sizes, dtype);
    if (!lora) {
      decoder.trainable.push_back(w.set_requires_grad(true));
    }
    return w;
  };
  decoder.embed_VH = weight({kVocabulary, kHidden});
  decoder.norm_H = weight({kHidden});
  const int64_t groups = kGroups * kHeadDim;
  for (int64_t i = 0; i < kLayers; ++i) {
    Layer layer{weight({kHidden, kHidden}),
                weight({groups, kHidden}),
                weight({groups, kHidden}),
                weight({kHidden, kHidden}),
                weight({kIntermediate, kHidden}),
                weight({kIntermediate, kHidden}),
                weight({kHidden, kIntermediate}),
                weight({kHidden}),
                weight({kHidden}),
                {},
                {}};
    if (lora) {
      layer.lora_q = make_lora(decoder, kHidden, kHidden);
      layer.lora_v = make_lora(decoder, kHidden, groups);
    }
    decoder.layers.push_back(layer);
  }
  return decoder;
}

at::Tensor loss(const Decoder& d, const PackedBatch& batch, const RotaryTable& rotary) {
  at::Tensor residual = embedding(batch.ids_T, d.embed_VH, 1.0);
  at::Tensor x = rms_norm(residual, d.layers[0].norm1, kEps);
  for (size_t i = 0; i < d.layers.size(); ++i) {
    const Layer& l = d.layers[i];
    const at::Tensor q = d.lora ? lora_linear(x, l.q, {}, l.lora_q) : engine::linear(x, l.q, {});
    const at::Tensor k = engine::linear(x, l.k, {});
    const at::Tensor v = d.lora ? lora_linear(x, l.v, {}, l.lora_v) : engine::linear(x, l.v, {});
    const at::Tensor mixed = engine::linear(attention(q, k, v, batch, &rotary, attention_options()), l.o, {});
    std::tie(residual, x) = add_rms_norm(residual, mixed, l.norm2, kEps);
    const at::Tensor act = swiglu(engine::linear(x, l.gate, {}), engine::linear(x, l.up, {}));
    const at::Tensor& next = i + 1 < d.layers.size() ? d.layers[i + 1].norm1 : d.norm_H;
    std::tie(residual, x) = add_rms_norm(residual, engine::linear(act, l.down, {}), next, kEps);
  }
  return linear_cross_entropy_sum(x, d.embed_VH, batch.supervised_positions_S, batch.supervised_targets_S);
}

void decoder_step(benchmark::State& state, bool lora) {
  Decoder decoder = make_decoder(lora, dtype_of(state));
  const PackedBatch batch = make_batch(kRows);
  const RotaryTable rotary = make_rotary(batch.longest_row);
  for (auto _ : state) {
    for (at::Tensor& p : decoder.trainable) {
      p.mutable_grad() = at::Tensor();
    }
    loss(decoder, batch, rotary).backward();
  }
  state.counters["tokens/s"] = benchmark::Counter(batch.tokens(), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["peak_MiB"] = static_cast<double>(PeakTensorBytes()) / (1 << 20);
}

BENCHMARK_CAPTURE(decoder_step, lora, true)
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(decoder_step, full, false)
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace assay::engine::bench
