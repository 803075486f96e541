#include "image/resample_rows.h"

#include <bit>
#include <cstring>

#include "image/image.h"

#if defined(__x86_64__) && defined(__gnu_linux__)
#include <immintrin.h>
#define ASSAY_IMAGE_X86
#endif

namespace assay::image {
namespace {

constexpr int64_t kRows = RowResampler::kRows;

using Bytes = uint8_t __attribute__((vector_size(4 * kRows)));
using Words = uint32_t __attribute__((vector_size(4 * kRows)));
using Sums = int32_t __attribute__((vector_size(16 * kRows)));

/// One pixel and the byte behind it.
inline uint32_t LoadPixel(const uint8_t* pixel) {
  uint32_t word;
  std::memcpy(&word, pixel, sizeof(word));
  return word;
}

/// A pixel of each of the rows fills one vector.
void ResamplePortable(const Filter& filter, const RowResampler::Inputs& in, const RowResampler::Outputs& out) {
  const auto out_width = static_cast<int64_t>(filter.spans.size());
  for (int64_t x = 0; x < out_width; ++x) {
    const auto [first, count] = filter.spans[x];
    const int32_t* weights = filter.WeightsOf(x);
    Sums sums = Sums{} + kHalf;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t offset = kChannels * (first + k);
      const Words words = {LoadPixel(in[0] + offset), LoadPixel(in[1] + offset), LoadPixel(in[2] + offset),
                           LoadPixel(in[3] + offset)};
      sums += __builtin_convertvector(std::bit_cast<Bytes>(words), Sums) * weights[k];
    }
    sums >>= kPrecisionBits;
    sums = sums > 255 ? Sums{} + 255 : sums;
    const Bytes pixels = __builtin_convertvector(sums, Bytes);
    for (int64_t row = 0; row < kRows; ++row) {
      std::memcpy(out[row] + kChannels * x, reinterpret_cast<const uint8_t*>(&pixels) + 4 * row, 4);
    }
  }
}

#ifdef ASSAY_IMAGE_X86

// A product of 8 and 23 bits does not fit into the 16-bit products that come in pairs (vpmaddwd), so a weight is cut
// into two halves of 11 bits and a bit, which are summed apart and put together at the end: exactly what 32-bit
// products give.
constexpr int kLowBits = kPrecisionBits / 2;
constexpr int64_t kTaps = 4;  // neighbours of a group
constexpr int64_t kLanes = 16;

/// For each output position and group of four neighbours: 16 high halves, then 16 low ones, as PickPairs orders pixels.
std::vector<int16_t> PairWeights(const Filter& filter, int64_t groups) {
  std::vector<int16_t> paired(filter.spans.size() * static_cast<size_t>(groups * 2 * kLanes));
  int16_t* to = paired.data();
  for (size_t x = 0; x < filter.spans.size(); ++x) {
    const int32_t* weights = filter.WeightsOf(static_cast<int64_t>(x));
    for (int64_t group = 0; group < groups; ++group, to += 2 * kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int64_t tap = kTaps * group + 2 * (lane / 8) + lane % 2;
        const bool is_colour = lane % 8 < 2 * kChannels;
        const int32_t weight = is_colour && tap < filter.spans[x].count ? weights[tap] : 0;
        to[lane] = static_cast<int16_t>(weight >> kLowBits);
        to[kLanes + lane] = static_cast<int16_t>(weight & ((1 << kLowBits) - 1));
      }
    }
  }
  return paired;
}

/// Four pixels as 16-bit numbers: R0 R1 G0 G1 B0 B1 0 0, and the same of pixels 2 and 3.
__attribute__((target("avx2"))) inline __m256i PickPairs(const uint8_t* pixels) {
  const __m256i order = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,  //
                                         6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), order);
}

/// The sums of even and odd pairs, put together, rounded and limited to a byte each.
__attribute__((target("avx2"))) inline uint32_t FinishPixel(__m256i high, __m256i low) {
  const __m256i both = _mm256_add_epi32(_mm256_slli_epi32(high, kLowBits), low);
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  sum = _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(kHalf)), kPrecisionBits);
  sum = _mm_packus_epi32(sum, sum);
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_packus_epi16(sum, sum)));
}

__attribute__((target("avx2"))) void ResampleAvx2(const Filter& filter, const int16_t* weights, int64_t groups,
                                                  const RowResampler::Inputs& in, const RowResampler::Outputs& out) {
  const auto out_width = static_cast<int64_t>(filter.spans.size());
  for (int64_t x = 0; x < out_width; ++x) {
    const auto [first, count] = filter.spans[x];
    const int16_t* group_weights = weights + x * groups * 2 * kLanes;
    __m256i high[kRows] = {};
    __m256i low[kRows] = {};
    for (int64_t k = 0; k < count; k += kTaps, group_weights += 2 * kLanes) {
      const __m256i high_weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(group_weights));
      const __m256i low_weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(group_weights + kLanes));
      for (int64_t row = 0; row < kRows; ++row) {
        const __m256i pixels = PickPairs(in[row] + kChannels * (first + k));
        high[row] = _mm256_add_epi32(high[row], _mm256_madd_epi16(pixels, high_weights));
        low[row] = _mm256_add_epi32(low[row], _mm256_madd_epi16(pixels, low_weights));
      }
    }
    for (int64_t row = 0; row < kRows; ++row) {
      const uint32_t pixel = FinishPixel(high[row], low[row]);
      std::memcpy(out[row] + kChannels * x, &pixel, sizeof(pixel));
    }
  }
}

#endif

}  // namespace

RowResampler::RowResampler(const Filter& filter, bool vectorized) : filter_(filter) {
#ifdef ASSAY_IMAGE_X86
  if (vectorized && __builtin_cpu_supports("avx2")) {
    groups_ = (filter.stride + kTaps - 1) / kTaps;
    paired_ = PairWeights(filter, groups_);
  }
#endif
}

void RowResampler::Resample(const Inputs& in, const Outputs& out) const {
#ifdef ASSAY_IMAGE_X86
  if (groups_ > 0) {
    return ResampleAvx2(filter_, paired_.data(), groups_, in, out);
  }
#endif
  ResamplePortable(filter_, in, out);
}

}  // namespace assay::image
