// Sizes that ColossalAI's search_chunk_configuration() (4f9953b) gives for the same parameters.
#include "engine/shard/chunk_search.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::engine {
namespace {

constexpr int64_t kMebi = int64_t{1} << 20;

using Sizes = std::vector<int64_t>;

void append(Sizes& sizes, const Sizes& more, int times = 1) {
  for (int i = 0; i < times; ++i) {
    sizes.insert(sizes.end(), more.begin(), more.end());
  }
}

/// In the order of transformers' ViTForImageClassification.
Sizes vit(int64_t hidden, int layers, int64_t labels) {
  const int64_t square = hidden * hidden;
  const int64_t mlp = 4 * hidden;
  Sizes sizes = {hidden, 197 * hidden, hidden * 3 * 16 * 16, hidden};
  append(sizes,
         {square, hidden, square, hidden, square, hidden, square, hidden, mlp * hidden, mlp, mlp * hidden, hidden,
          hidden, hidden, hidden, hidden},
         layers);
  append(sizes, {hidden, hidden, labels * hidden, labels});
  return sizes;
}

/// In the order of transformers' LlamaForCausalLM; `kv`: features of keys.
Sizes llama(int64_t vocabulary, int64_t hidden, int64_t mlp, int layers, int64_t kv, bool tied) {
  Sizes sizes = {vocabulary * hidden};
  append(sizes,
         {hidden * hidden, kv * hidden, kv * hidden, hidden * hidden, mlp * hidden, mlp * hidden, hidden * mlp, hidden,
          hidden},
         layers);
  append(sizes, {hidden});
  append(sizes, {vocabulary * hidden}, tied ? 0 : 1);
  return sizes;
}

void expect_size(const Sizes& sizes, const ChunkSearch& search, int64_t ranks, int64_t elements, int64_t waste) {
  const ChunkSize got = search_chunk_size(sizes, search, ranks);
  EXPECT_EQ(got.elements, elements);
  EXPECT_EQ(got.waste, waste);
  EXPECT_FALSE(got.keep_gathered);
}

TEST(ChunkSearch, VisionTransformersHaveTheReferencesChunks) {
  const Sizes base = vit(768, 12, 1000);
  for (const int64_t ranks : {1, 2, 4}) {
    expect_size(base, {}, ranks, 43297792, 27928);
  }
  expect_size(base, {}, 3, 43297794, 27928);
  expect_size(base, {.step = 768}, 1, 43298304, 28952);
  expect_size(base, {.min_elements = 7 * kMebi, .range = 4 * kMebi}, 3, 10221570, 5426456);
  expect_size(vit(768, 12, 3), {}, 1, 43266048, 731133);
  expect_size(vit(1024, 24, 1000), {}, 3, 51411969, 4145176);
}

TEST(ChunkSearch, DecodersHaveTheReferencesChunks) {
  const Sizes small = llama(49152, 576, 1536, 30, 192, true);
  expect_size(small, {}, 1, 35401728, 1728);
  expect_size(small, {.step = 576}, 1, 53102016, 576);
  const Sizes large = llama(32000, 2048, 5632, 22, 256, false);
  expect_size(large, {}, 1, 44046336, 43008);
  expect_size(large, {.min_elements = 16 * kMebi, .range = 8 * kMebi, .step = 2048}, 3, 23074818, 46315520);
}

TEST(ChunkSearch, OneExtremeParameterDoesNotMakeAllChunksLarge) {
  Sizes sizes(20, 100);
  sizes.push_back(5000);
  append(sizes, {100}, 20);
  expect_size(sizes, {.min_elements = 250, .range = 400, .step = 10}, 3, 402, 0);
}

TEST(ChunkSearch, TakesTheFirstOfTheSizesThatWasteLeast) {
  expect_size({5, 7, 9, 4, 4, 8, 3}, {.min_elements = 10, .range = 20, .step = 2}, 3, 24, 4);
  expect_size({10, 10, 10}, {.min_elements = 16, .range = 0, .step = 4}, 1, 16, 18);
  expect_size(Sizes(16, 64), {.min_elements = 128, .range = 1000, .step = 64}, 1, 128, 0);
}

TEST(ChunkSearch, WhatIsSmallerThanAChunkStaysGathered) {
  const ChunkSize tiny = search_chunk_size(vit(192, 12, 1000), {}, 4);
  EXPECT_TRUE(tiny.keep_gathered);
  EXPECT_EQ(tiny.elements, 5717416);
  EXPECT_TRUE(search_chunk_size({}, {.min_elements = 0}, 1).keep_gathered);
}

}  // namespace
}  // namespace assay::engine
