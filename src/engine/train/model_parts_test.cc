#include "engine/train/model_parts.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/model/decoder.h"

namespace assay::engine {
namespace {

/// Of a model of two stages with two tensor ranks each: stage by stage, tensor ranks of a stage together.
std::vector<NamedTensor> parts_of(int rank, const at::Tensor& large) {
  const TensorPlace place{.rank = rank % 2, .ranks = 2};
  const std::string layer = rank < 2 ? "layers.0." : "layers.1.";
  const at::Tensor whole = at::arange(24, at::kFloat).view({4, 6}) + (rank < 2 ? 0 : 100);
  std::vector<NamedTensor> own;
  if (rank < 2) {
    own.emplace_back("embed_tokens.weight", large);
  }
  for (const char* name : {"q_proj.weight", "o_proj.weight", "norm.weight"}) {
    own.emplace_back(layer + name, cut_for_rank(decoder_split_rules(), layer + name, whole, place).contiguous());
  }
  if (rank >= 2) {
    own.emplace_back("norm.weight", large + 1);
  }
  return own;
}

TEST(GatherParts, OfAllRanksMakeTheModelOnTheFirst) {
  const at::Tensor large = at::arange(5, at::kBFloat16);
  const auto group = make_thread_group(4);
  testing::run_ranks(group, [&](Communicator& ranks) {
    const auto all = gather_parts(parts_of(ranks.rank(), large), decoder_split_rules(), &ranks);
    if (ranks.rank() > 0) {
      EXPECT_TRUE(all.empty());
      return;
    }
    const at::Tensor first = at::arange(24, at::kFloat).view({4, 6});
    const std::vector<NamedTensor> want = {
        {"embed_tokens.weight", large},          {"layers.0.q_proj.weight", first},
        {"layers.0.o_proj.weight", first},       {"layers.0.norm.weight", first},
        {"layers.1.q_proj.weight", first + 100}, {"layers.1.o_proj.weight", first + 100},
        {"layers.1.norm.weight", first + 100},   {"norm.weight", large + 1}};
    ASSERT_EQ(all.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(all[i].first, want[i].first);
      EXPECT_TRUE(at::equal(all[i].second, want[i].second)) << all[i].first;
    }
  });
}

/// A rank that waits while others send is not to be taken for lost, however large the model: all meet after each piece.
TEST(GatherParts, NoRankWaitsForMoreThanOnePiece) {
  const at::Tensor large = at::arange(2 * kPartPieceBytes / 4 + 7, at::kFloat);
  const auto group = make_thread_group(4);
  testing::run_ranks(group, [&](Communicator& ranks) {
    const auto all = gather_parts(parts_of(ranks.rank(), large), decoder_split_rules(), &ranks);
    std::map<std::string_view, CollectiveStats> stats;
    for (const CollectiveStats& kind : ranks.stats()) {
      stats[kind.kind] = kind;
    }
    // Of stage 0 rank 1 has two parts to bring, of stage 1 ranks 2 and 3 have two each, rank 2 the norms beside.
    constexpr int64_t kSmall = 2 + 2 * 2 + 1;
    constexpr int64_t kPiecesOfLarge = 3;
    EXPECT_EQ(stats["barrier"].calls, kSmall + kPiecesOfLarge);
    if (ranks.rank() == 0) {
      EXPECT_EQ(stats["recv"].calls, kSmall + kPiecesOfLarge);
      EXPECT_TRUE(at::equal(all.back().second, large + 1));
    }
  });
}

}  // namespace
}  // namespace assay::engine
