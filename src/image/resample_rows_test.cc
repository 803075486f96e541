#include "image/resample_rows.h"

#include <gmock/gmock.h>

#include <random>

namespace assay::image {
namespace {

/// Random spans and weights that add up to one, as filters' do.
Filter RandomFilter(int64_t in_width, int64_t out_width, int64_t taps, std::mt19937& random) {
  Filter filter{.spans = {}, .weights = {}, .stride = taps};
  for (int64_t x = 0; x < out_width; ++x) {
    const int64_t count = 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(taps));
    const auto first = static_cast<int64_t>(random() % static_cast<uint32_t>(in_width - count + 1));
    filter.spans.push_back({first, count});
    int32_t rest = 1 << kPrecisionBits;
    for (int64_t k = 0; k < taps; ++k) {
      const int32_t weight = k + 1 < count ? static_cast<int32_t>(random() % static_cast<uint32_t>(rest + 1)) : rest;
      filter.weights.push_back(k < count ? weight : 0);
      rest -= k < count ? weight : 0;
    }
  }
  return filter;
}

TEST(ResampleRowsTest, InstructionSetsGiveTheSameBytes) {
  std::mt19937 random(7);
  for (const int64_t taps : {1, 2, 3, 4, 5, 8, 17, 19}) {
    constexpr int64_t kWidth = 40;
    constexpr int64_t kOutWidth = 13;
    constexpr size_t kInBytes = 3 * kWidth + RowResampler::kSpareBytes;
    constexpr size_t kOutBytes = 3 * kOutWidth + RowResampler::kSpareBytes;
    const Filter filter = RandomFilter(kWidth, kOutWidth, taps, random);
    std::vector<uint8_t> in(RowResampler::kRows * kInBytes);
    for (uint8_t& byte : in) {
      byte = taps % 2 == 0 ? static_cast<uint8_t>(random()) : 255;
    }
    std::vector<uint8_t> results[2];
    for (const bool vectorized : {false, true}) {
      std::vector<uint8_t>& out = results[vectorized ? 1 : 0];
      out.resize(RowResampler::kRows * kOutBytes);
      RowResampler::Inputs inputs;
      RowResampler::Outputs outputs;
      for (size_t row = 0; row < inputs.size(); ++row) {
        inputs[row] = in.data() + row * kInBytes;
        outputs[row] = out.data() + row * kOutBytes;
      }
      RowResampler(filter, vectorized).Resample(inputs, outputs);
      for (uint8_t* row : outputs) {
        std::fill_n(row + 3 * kOutWidth, RowResampler::kSpareBytes, uint8_t{0});
      }
    }
    EXPECT_EQ(results[0], results[1]) << taps << " taps";
  }
}

}  // namespace
}  // namespace assay::image
