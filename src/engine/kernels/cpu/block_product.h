// Float32 product of small blocks, operands in the first- and second-level cache. Part of a per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/simd.h"

namespace assay::engine::ASSAY_ISA {

template <int kRows, int kVectors>
void product_tile(int64_t k, int64_t lda, int64_t ldb, int64_t ldc, bool add, const float* a, const float* b,
                  float* c) {
  F32 total[kRows][kVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kVectors; ++j) {
      total[i][j] = add ? load(c + i * ldc + j * kLanes) : F32{};
    }
  }
  for (int64_t depth = 0; depth < k; ++depth) {
    F32 right[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      right[j] = load(b + depth * ldb + j * kLanes);
    }
    for (int i = 0; i < kRows; ++i) {
      const F32 left = broadcast(a[i * lda + depth]);
      for (int j = 0; j < kVectors; ++j) {
        total[i][j] += left * right[j];
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kVectors; ++j) {
      store(c + i * ldc + j * kLanes, total[i][j]);
    }
  }
}

template <int kVectors>
void product_columns(int64_t m, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, bool add, const float* a,
                     const float* b, float* c) {
  constexpr int kRows = 4;
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows) {
    product_tile<kRows, kVectors>(k, lda, ldb, ldc, add, a + i * lda, b, c + i * ldc);
  }
  for (; i < m; ++i) {
    product_tile<1, kVectors>(k, lda, ldb, ldc, add, a + i * lda, b, c + i * ldc);
  }
}

/// Not inlined: the callers' constant sizes make GCC 12 warn about loops that never run.
[[gnu::noinline]] inline void float32_product(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                              bool add, const void* a, const void* b, float* c) {
#if defined(__AVX512F__)
  constexpr int kVectors = 4;  // 16 accumulators of 32 registers
#else
  constexpr int kVectors = 2;  // 8 accumulators of 16 registers
#endif
  const auto* left = static_cast<const float*>(a);
  const auto* right = static_cast<const float*>(b);
  int64_t j = 0;
  for (; j + kVectors * kLanes <= n; j += kVectors * kLanes) {
    product_columns<kVectors>(m, k, lda, ldb, ldc, add, left, right + j, c + j);
  }
  for (; j < n; j += kLanes) {
    product_columns<1>(m, k, lda, ldb, ldc, add, left, right + j, c + j);
  }
}

}  // namespace assay::engine::ASSAY_ISA
