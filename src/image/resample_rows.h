// The horizontal pass of a resize: rows of RGB pixels, each output pixel a weighted sum of neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace assay::image {

/// Weights are fractions of 2^kPrecisionBits: 32 bits less 8 of a pixel and 2 to spare.
inline constexpr int kPrecisionBits = 22;
inline constexpr int32_t kHalf = 1 << (kPrecisionBits - 1);

/// For each output position the input positions that it is made of.
struct Filter {
  struct Span {
    int64_t first;
    int64_t count;
  };
  std::vector<Span> spans;
  std::vector<int32_t> weights;  ///< `stride` for each output position, none negative
  int64_t stride;

  const int32_t* WeightsOf(int64_t out) const { return weights.data() + out * stride; }
};

/// Applies one filter to rows, with the instructions that this processor has: the same results with all of them.
/// Immutable; safe from several threads.
class RowResampler {
 public:
  /// Rows that are worked on at once.
  static constexpr int64_t kRows = 4;
  /// What must be readable beyond an input row's end, and writable beyond an output row's.
  static constexpr int64_t kSpareBytes = 16;

  using Inputs = std::array<const uint8_t*, kRows>;
  using Outputs = std::array<uint8_t*, kRows>;

  /// Keeps a reference to `filter`. `vectorized` false: not with AVX2, for tests.
  explicit RowResampler(const Filter& filter, bool vectorized = true);

  /// Makes kRows output rows of as many input rows.
  void Resample(const Inputs& in, const Outputs& out) const;

 private:
  const Filter& filter_;
  /// Weights by pairs of neighbours, high and low half apart; empty where there is no AVX2.
  std::vector<int16_t> paired_;
  int64_t groups_ = 0;  ///< of four neighbours, for each output position
};

}  // namespace assay::image
