// SwiGLU, residual sums, rotary positions, dropout masks and the element-wise parts of a low-rank update. See lanes.h.
#pragma once

#include <cmath>

#include "engine/kernels/cuda/lanes.h"
#include "engine/kernels/cuda/norm_bodies.h"
#include "engine/kernels/cuda/tasks.h"
#include "engine/kernels/dropout_mask.h"

namespace assay::engine::cuda {

ASSAY_DEVICE_CODE inline float sigmoid(float x) {
  return 1.0F / (1.0F + std::exp(-x));
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void swiglu_forward(const SwigluForward& task, const Team& team) {
  for_packs<kLanes>(team, task.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto gates = load<kCount>(static_cast<const T*>(task.gate) + i);
    const auto ups = load<kCount>(static_cast<const T*>(task.up) + i);
    Pack<T, kCount> result;
    for (int j = 0; j < kCount; ++j) {
      const float gate = static_cast<float>(gates.lane[j]);
      result.lane[j] = static_cast<T>(round_to<T>(gate * sigmoid(gate)) * static_cast<float>(ups.lane[j]));
    }
    store(static_cast<T*>(task.y) + i, result);
  });
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void swiglu_backward(const SwigluBackward& task, const Team& team) {
  for_packs<kLanes>(team, task.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto gradients = load<kCount>(static_cast<const T*>(task.grad_y) + i);
    const auto gates = load<kCount>(static_cast<const T*>(task.gate) + i);
    const auto ups = load<kCount>(static_cast<const T*>(task.up) + i);
    Pack<T, kCount> to_gate;
    Pack<T, kCount> to_up;
    for (int j = 0; j < kCount; ++j) {
      const float gradient = static_cast<float>(gradients.lane[j]);
      const float gate = static_cast<float>(gates.lane[j]);
      const float share = sigmoid(gate);
      to_up.lane[j] = static_cast<T>(gradient * round_to<T>(gate * share));
      const float slope = share * (1.0F + gate * (1.0F - share));
      to_gate.lane[j] = static_cast<T>(gradient * static_cast<float>(ups.lane[j]) * slope);
    }
    store(static_cast<T*>(task.grad_gate) + i, to_gate);
    store(static_cast<T*>(task.grad_up) + i, to_up);
  });
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void add_scaled(const AddScaled& task, const Team& team) {
  for_packs<kLanes>(team, task.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto left = load<kCount>(static_cast<const T*>(task.a) + i);
    const auto right = load<kCount>(static_cast<const T*>(task.b) + i);
    Pack<T, kCount> result;
    for (int j = 0; j < kCount; ++j) {
      result.lane[j] = static_cast<T>(static_cast<float>(left.lane[j]) + scaled(right.lane[j], task.multiplier));
    }
    store(static_cast<T*>(task.out) + i, result);
  });
}

/// A pair of elements turned by an angle, or back. Forward rounds each product, as separate operations would.
template <typename T>
ASSAY_DEVICE_CODE void rotate_pair(float& low, float& high, float cosine, float sine, bool inverse) {
  const float before = low;
  if (inverse) {
    low = before * cosine + high * sine;
    high = high * cosine - before * sine;
  } else {
    low = round_to<T>(before * cosine) - round_to<T>(high * sine);
    high = round_to<T>(high * cosine) + round_to<T>(before * sine);
  }
}

/// All heads of one token; kLanes divides task.half.
template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void rotate_token(const Rotate& task, int64_t token, const Team& team) {
  const int64_t offset = token * task.heads * task.half * 2;
  const T* x = static_cast<const T*>(task.x) + offset;
  T* out = static_cast<T*>(task.out) + offset;
  const float* cosine = task.cosine + task.positions[token] * task.half;
  const float* sine = task.sine + task.positions[token] * task.half;
  const int packs_per_head = task.half / kLanes;
  for (int item = static_cast<int>(team.rank()); item < task.heads * packs_per_head; item += team.size()) {
    const int column = item % packs_per_head * kLanes;
    const int64_t first = static_cast<int64_t>(item / packs_per_head) * task.half * 2 + column;
    auto lows = load<kLanes>(x + first);
    auto highs = load<kLanes>(x + first + task.half);
    for (int j = 0; j < kLanes; ++j) {
      float low = static_cast<float>(lows.lane[j]);
      float high = static_cast<float>(highs.lane[j]);
      rotate_pair<T>(low, high, round_to<T>(cosine[column + j]), round_to<T>(sine[column + j]), task.inverse);
      lows.lane[j] = static_cast<T>(low);
      highs.lane[j] = static_cast<T>(high);
    }
    store(out + first, lows);
    store(out + first + task.half, highs);
  }
}

template <typename T, typename Team>
ASSAY_DEVICE_CODE void split(const Split& task, const Team& team) {
  for (int64_t i = team.rank(); i < task.rows * task.columns; i += team.size()) {
    const T first = static_cast<T>(task.values[i]);
    const float rest = task.values[i] - static_cast<float>(first);
    const T second = static_cast<T>(rest);
    const T third = static_cast<T>(rest - static_cast<float>(second));
    T* out = static_cast<T*>(task.out) + i / task.columns * task.row_stride + i % task.columns;
    for (int p = 0; p < 3; ++p) {
      out[p * task.piece_stride] = task.pieces[p] == 0 ? first : task.pieces[p] == 1 ? second : third;
    }
  }
}

/// A thread takes 32 inputs of one output, which fill `bits` words; its neighbours take the outputs beside it.
template <typename T, typename Team>
ASSAY_DEVICE_CODE void dequantize(const Dequantize& task, const Team& team) {
  constexpr int kWord = 32;
  const uint32_t mask = (1U << task.bits) - 1;
  for (int64_t item = team.rank(); item < task.inputs / kWord * task.outputs; item += team.size()) {
    const int64_t block = item / task.outputs;
    const int64_t o = item % task.outputs;
    const uint32_t* word = task.words + block * task.bits * task.outputs + o;
    uint64_t ahead = 0;  // bits that were loaded and not taken
    int loaded = 0;
    for (int64_t i = block * kWord; i < (block + 1) * kWord; ++i) {
      if (loaded < task.bits) {
        ahead |= static_cast<uint64_t>(*word) << loaded;
        word += task.outputs;
        loaded += kWord;
      }
      const int64_t at = task.groups[i] * task.outputs + o;
      const auto value = static_cast<float>(static_cast<uint32_t>(ahead) & mask);
      static_cast<T*>(task.weight)[i * task.outputs + o] = static_cast<T>(task.scales[at] * (value - task.zeros[at]));
      ahead >>= task.bits;
      loaded -= task.bits;
    }
  }
}

/// The first token of an id sums up a column of all its rows.
template <typename T, typename Team>
ASSAY_DEVICE_CODE void embedding_sums(const EmbeddingSums& task, const Team& team) {
  for (int64_t item = team.rank(); item < task.count * task.width; item += team.size()) {
    const int64_t first = item / task.width;
    const int64_t column = item % task.width;
    const int64_t id = task.ids[first];
    if (first > 0 && task.ids[first - 1] == id) {
      continue;
    }
    float sum = 0;
    for (int64_t i = first; i < task.count && task.ids[i] == id; ++i) {
      sum += static_cast<float>(static_cast<const T*>(task.rows)[task.tokens[i] * task.width + column]);
    }
    static_cast<T*>(task.sums)[id * task.width + column] = static_cast<T>(sum * task.multiplier);
  }
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void add_masked(const AddMasked& task, const Team& team) {
  for_packs<kLanes>(team, task.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    T* y = static_cast<T*>(task.y) + i;
    auto values = load<kCount>(y);
    const auto updates = load<kCount>(task.update + i);
    const auto mask = task.mask == nullptr ? Pack<uint8_t, kCount>{} : load<kCount>(task.mask + i);
    for (int j = 0; j < kCount; ++j) {
      const bool kept = task.mask == nullptr || mask.lane[j] != 0;
      const float update = kept ? updates.lane[j] * task.scale : 0.0F;
      values.lane[j] = static_cast<T>(static_cast<float>(values.lane[j]) + update);
    }
    store(y, values);
  });
}

/// Of philox().
struct PhiloxLane {
  using Word = uint32_t;

  ASSAY_DEVICE_CODE static void multiply(uint32_t a, uint32_t factor, uint32_t& high, uint32_t& low) {
    const uint64_t product = uint64_t{a} * factor;
    high = static_cast<uint32_t>(product >> 32);
    low = static_cast<uint32_t>(product);
  }
};

inline int64_t counters_of_token(const DropoutMaskTask& task) {
  const int64_t first = task.first_feature / kFeaturesOfCounter;
  return (task.first_feature + task.features - 1) / kFeaturesOfCounter - first + 1;
}

/// `counters`: counters_of_token().
template <typename Team>
ASSAY_DEVICE_CODE void dropout_mask(const DropoutMaskTask& task, int64_t counters, const Team& team) {
  for (int64_t i = team.rank(); i < task.tokens * counters; i += team.size()) {
    const int64_t token = i / counters;
    const int64_t counter = task.first_feature / kFeaturesOfCounter + i % counters;
    uint32_t words[kFeaturesOfCounter] = {static_cast<uint32_t>(counter), 0, static_cast<uint32_t>(task.stream),
                                          static_cast<uint32_t>(task.stream >> 32)};
    philox<PhiloxLane>(words, static_cast<uint64_t>(task.keys[token]));
    for (int64_t word = 0; word < kFeaturesOfCounter; ++word) {
      const int64_t feature = counter * kFeaturesOfCounter + word - task.first_feature;
      if (feature >= 0 && feature < task.features) {
        task.mask[token * task.features + feature] = words[word] >= task.dropped_below ? 1 : 0;
      }
    }
  }
}

}  // namespace assay::engine::cuda
