// Weights of 2 to 8 bits, in groups of inputs that share a scale and a zero for each output.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace assay::engine {

/// A weight [O, I] as GPTQ's checkpoints hold it (Frantar et al. 2022, "GPTQ"): the weight from input i to output o is
/// scales[g, o] * (value[i, o] - zeros[g, o]), where g is the group of i. I is one that fills_words(). All on one
/// device.
struct QuantizedTensors {
  at::Tensor words_WO;    ///< int32 [I * bits / 32, O]: the values of an output one behind the other, low bits first
  at::Tensor scales_GO;   ///< of floating point
  at::Tensor zeros_GO;    ///< uint8
  at::Tensor group_of_I;  ///< int32, each in [0, G)
  int64_t bits = 4;       ///< 2, 3, 4 or 8
};

inline constexpr int64_t kWordBits = 32;

/// Whether so many values, whatever their bits, fill whole words.
inline bool fills_words(int64_t values) {
  return values > 0 && values % kWordBits == 0;
}

/// Where the values of an input begin.
struct ValuePlace {
  int64_t word;
  int shift;

  /// Whether the rest is in the next word: values of 3 bits may lie in two.
  bool goes_on(int64_t bits) const { return shift + bits > kWordBits; }
};

inline ValuePlace place_of_value(int64_t index, int64_t bits) {
  return {index * bits / kWordBits, static_cast<int>(index * bits % kWordBits)};
}

/// Calls `take(column, value)` for all values of row `index` of `words`, which has `columns` columns.
template <typename Take>
void for_each_value(const uint32_t* words, int64_t index, int64_t bits, int64_t columns, const Take& take) {
  const ValuePlace place = place_of_value(index, bits);
  const uint32_t mask = (1U << bits) - 1;
  const uint32_t* low = words + place.word * columns;
  if (!place.goes_on(bits)) {
    for (int64_t c = 0; c < columns; ++c) {
      take(c, (low[c] >> place.shift) & mask);
    }
    return;
  }
  const uint32_t* high = low + columns;
  for (int64_t c = 0; c < columns; ++c) {
    take(c, ((low[c] >> place.shift) | (high[c] << (kWordBits - place.shift))) & mask);
  }
}

inline const uint32_t* words_of(const at::Tensor& words) {
  return reinterpret_cast<const uint32_t*>(words.const_data_ptr<int32_t>());
}

}  // namespace assay::engine
