#include "engine/model/embedding_noise.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay::engine {
namespace {

constexpr int64_t kFeatures = 64;

/// Rows of `lengths` tokens, with keys that follow from their numbers.
PackedBatch batch_of(const std::vector<int64_t>& lengths, uint64_t first_key = 100) {
  PackedBatch batch{.row_offsets = {0}};
  for (const int64_t length : lengths) {
    batch.row_offsets.push_back(batch.row_offsets.back() + length);
    batch.row_keys.push_back(first_key + batch.row_keys.size());
  }
  return batch;
}

at::Tensor noise_of(const PackedBatch& batch, double alpha, double multiplier = 1) {
  return add_noise(at::zeros({batch.tokens(), kFeatures}), batch, alpha, multiplier);
}

TEST(EmbeddingNoise, IsUniformWithinTheBoundOfEachRow) {
  const at::Tensor noise = noise_of(batch_of({400, 25}), 5.0);
  for (const auto& [begin, length] : {std::pair<int64_t, int64_t>{0, 400}, {400, 25}}) {
    const at::Tensor of_row = noise.narrow(0, begin, length).to(at::kDouble);
    const double bound = 5.0 / std::sqrt(static_cast<double>(length * kFeatures));
    EXPECT_LE(of_row.abs().max().item<double>(), bound);
    EXPECT_GT(of_row.abs().max().item<double>(), 0.99 * bound);
    EXPECT_NEAR(of_row.mean().item<double>() / bound, 0.0, 0.05);
    EXPECT_NEAR(of_row.std().item<double>() / bound, 1 / std::sqrt(3.0), 0.02);
  }
}

TEST(EmbeddingNoise, OfARowIsTheSameInAnyBatch) {
  const at::Tensor together = noise_of(batch_of({7, 9}), 3.0);
  EXPECT_TRUE(noise_of(batch_of({9}, 101), 3.0).equal(together.narrow(0, 7, 9)));
  EXPECT_FALSE(noise_of(batch_of({9}, 102), 3.0).equal(together.narrow(0, 7, 9)));
  EXPECT_TRUE(noise_of(batch_of({9}, 101), 3.0, 12.0).allclose(together.narrow(0, 7, 9) * 12));
}

TEST(EmbeddingNoise, APromptIsNoToken) {
  PackedBatch batch = batch_of({20});
  batch.prompt_length = 4;
  EXPECT_TRUE((noise_of(batch, 1.0) * std::sqrt(16.0)).allclose(noise_of(batch_of({20}), 1.0) * std::sqrt(20.0)));
}

TEST(EmbeddingNoise, NoneChangesNothingAndNeedsNoKeys) {
  const at::Tensor x = at::randn({5, 3});
  EXPECT_TRUE(add_noise(x, PackedBatch(), 0, 1).is_same(x));
  EXPECT_THROW(add_noise(x, PackedBatch{.row_offsets = {0, 5}}, 1, 1), c10::Error);
}

}  // namespace
}  // namespace assay::engine
