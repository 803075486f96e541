// Products of a tall 16- or 32-bit matrix with the few float32 rows of a low-rank update. Part of a
// per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/simd.h"

namespace assay::engine::ASSAY_ISA {

/// Rank rows that are worked on together: their accumulators stay in registers.
inline constexpr int64_t kRankTile = 4;
/// Tokens that share one pass over those rank rows.
inline constexpr int64_t kTokenTile = 4;

template <typename Lanes>
F32 mask_factor(const uint8_t* mask, float keep_scale, Lanes) {
  F32 factor;
  for (int lane = 0; lane < kLanes; ++lane) {
    factor[lane] = mask[lane] != 0 ? keep_scale : 0.0F;
  }
  return factor;
}
inline F32 mask_factor(const uint8_t* mask, float keep_scale, int64_t count) {
  F32 factor{};
  for (int64_t lane = 0; lane < count; ++lane) {
    factor[lane] = mask[lane] != 0 ? keep_scale : 0.0F;
  }
  return factor;
}

/// Elements of `x` from `offset` on, with the dropout mask applied.
template <typename T, typename Lanes>
F32 load_masked(const TallMatrix& x, int64_t offset, Lanes lanes) {
  const F32 value = load_lanes(static_cast<const T*>(x.data) + offset, lanes);
  return x.mask == nullptr ? value : value * mask_factor(x.mask + offset, x.keep_scale, lanes);
}

template <typename T, int kTokens, int kRank>
void project_down_tile(const TallMatrix& x, const float* a, int64_t rank, float scale, float* low, int64_t token) {
  F32 total[kTokens][kRank] = {};
  for_vectors(x.width, [&](int64_t i, auto lanes) {
    F32 rows[kRank];
    for (int j = 0; j < kRank; ++j) {
      rows[j] = load_lanes(a + j * x.width + i, lanes);
    }
    for (int t = 0; t < kTokens; ++t) {
      const F32 value = load_masked<T>(x, (token + t) * x.width + i, lanes);
      for (int j = 0; j < kRank; ++j) {
        total[t][j] += value * rows[j];
      }
    }
  });
  for (int t = 0; t < kTokens; ++t) {
    for (int j = 0; j < kRank; ++j) {
      low[(token + t) * rank + j] = sum(total[t][j]) * scale;
    }
  }
}

template <typename T, int kTokens>
void project_down_tokens(const TallMatrix& x, const float* a, int64_t rank, float scale, float* low, int64_t token) {
  int64_t j = 0;
  for (; j + kRankTile <= rank; j += kRankTile) {
    project_down_tile<T, kTokens, kRankTile>(x, a + j * x.width, rank, scale, low + j, token);
  }
  for (; j < rank; ++j) {
    project_down_tile<T, kTokens, 1>(x, a + j * x.width, rank, scale, low + j, token);
  }
}

template <typename T>
void project_down(const TallMatrix& x, const float* a, int64_t rank, float scale, float* low, int64_t begin,
                  int64_t end) {
  int64_t token = begin;
  for (; token + kTokenTile <= end; token += kTokenTile) {
    project_down_tokens<T, kTokenTile>(x, a, rank, scale, low, token);
  }
  for (; token < end; ++token) {
    project_down_tokens<T, 1>(x, a, rank, scale, low, token);
  }
}

template <typename T>
void project_up(const float* low, const float* a, int64_t rank, float scale, const TallMatrix& y, int64_t begin,
                int64_t end) {
  T* out = static_cast<T*>(const_cast<void*>(y.data));
  for (int64_t token = begin; token < end; ++token) {
    const float* coefficients = low + token * rank;
    for_vectors(y.width, [&](int64_t i, auto lanes) {
      F32 update{};
      for (int64_t j = 0; j < rank; ++j) {
        update += load_lanes(a + j * y.width + i, lanes) * coefficients[j];
      }
      update *= scale;
      const int64_t offset = token * y.width + i;
      if (y.mask != nullptr) {
        update *= mask_factor(y.mask + offset, y.keep_scale, lanes);
      }
      store_lanes(out + offset, load_lanes(out + offset, lanes) + update, lanes);
    });
  }
}

template <typename T, int kRank>
void outer_sum_tile(const float* low, const TallMatrix& x, int64_t rows, int64_t rank, float scale, float* out,
                    int64_t begin, int64_t end) {
  for_vectors(end - begin, [&](int64_t i, auto lanes) {
    const int64_t column = begin + i;
    F32 total[kRank] = {};
    for (int64_t row = 0; row < rows; ++row) {
      const F32 value = load_masked<T>(x, row * x.width + column, lanes);
      for (int j = 0; j < kRank; ++j) {
        total[j] += value * low[row * rank + j];
      }
    }
    for (int j = 0; j < kRank; ++j) {
      store_lanes(out + j * x.width + column, total[j] * scale, lanes);
    }
  });
}

template <typename T>
void outer_sum(const float* low, const TallMatrix& x, int64_t rows, int64_t rank, float scale, float* out,
               int64_t begin, int64_t end) {
  int64_t j = 0;
  for (; j + 2 * kRankTile <= rank; j += 2 * kRankTile) {
    outer_sum_tile<T, 2 * kRankTile>(low + j, x, rows, rank, scale, out + j * x.width, begin, end);
  }
  for (; j + kRankTile <= rank; j += kRankTile) {
    outer_sum_tile<T, kRankTile>(low + j, x, rows, rank, scale, out + j * x.width, begin, end);
  }
  for (; j < rank; ++j) {
    outer_sum_tile<T, 1>(low + j, x, rows, rank, scale, out + j * x.width, begin, end);
  }
}

}  // namespace assay::engine::ASSAY_ISA
