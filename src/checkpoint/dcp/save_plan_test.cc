#include "checkpoint/dcp/save_plan.h"

#include "checkpoint/dcp/share_out.h"
#include "checkpoint/testing.h"

namespace assay::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HeldTensor Held(const std::string& name, Sizes shape, Box box) {
  return {name, {name}, DType::kFloat32, std::move(shape), std::move(box), false};
}

SavePlan Plan(const std::vector<RankHoldings>& ranks, const SavePlanOptions& options = {}) {
  Result<SavePlan> plan = PlanSave(ranks, options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? *std::move(plan) : SavePlan();
}

TEST(PlanSave, ReplicasGoToWhoHasTheLeast) {
  std::vector<RankHoldings> ranks(2);
  ranks[0].tensors = {Held("a", {100}, WholeOf({100})), Held("b", {10}, WholeOf({10})), Held("c", {10}, WholeOf({10}))};
  ranks[1].tensors = ranks[0].tensors;
  SavePlan plan = Plan(ranks);
  ASSERT_EQ(plan.ranks[0][0].items.size(), 1u);
  EXPECT_EQ(plan.ranks[1][0].items.size(), 2u);
  SavePlanOptions lowest;
  lowest.to_lowest_rank = true;
  plan = Plan(ranks, lowest);
  EXPECT_EQ(plan.ranks[0][0].items.size(), 3u);
  EXPECT_TRUE(plan.ranks[1].empty()) << "a rank with nothing to write writes no file";
}

TEST(PlanSave, ItemsDoNotOverlapAndLargeOnesBeginAtPages) {
  std::vector<RankHoldings> ranks(1);
  for (int i = 0; i < 20; ++i) {
    const int64_t rows = i % 2 == 0 ? 3 : 20000 + i;
    ranks[0].tensors.push_back(Held("t" + std::to_string(i), {rows}, WholeOf({rows})));
  }
  ranks[0].values = {{"v", {"v"}, 1001}};
  SavePlanOptions options;
  options.files_per_rank = 3;
  options.page_bytes = 8192;
  const SavePlan plan = Plan(ranks, options);
  ASSERT_EQ(plan.ranks[0].size(), 3u);
  size_t items = 0;
  for (const PlannedFile& file : plan.ranks[0]) {
    int64_t end = 0;
    for (const PlannedItem& item : file.items) {
      ++items;
      EXPECT_GE(item.offset, end);
      end = item.offset + item.length;
      if (!item.is_value) {
        const HeldTensor& held = ranks[0].tensors[item.held];
        const int64_t data_offset = 704;  // of a tensor of one dimension in an item of torch.save
        const int64_t alignment = held.shape[0] > 100 ? 8192 : 64;
        EXPECT_EQ((item.offset + data_offset) % alignment, 0) << held.name;
      }
    }
  }
  EXPECT_EQ(items, 21u);
}

TEST(PlanSave, SaysWhereEveryChunkWillLie) {
  std::vector<RankHoldings> ranks(2);
  ranks[0].tensors = {Held("w", {4, 3}, {{0, 0}, {2, 3}})};
  ranks[1].tensors = {Held("w", {4, 3}, {{2, 0}, {2, 3}})};
  const SavePlan plan = Plan(ranks);
  ASSERT_EQ(plan.metadata.entries.size(), 1u);
  const DcpEntry& entry = plan.metadata.entries[0];
  ASSERT_EQ(entry.chunks.size(), 2u);
  EXPECT_EQ(entry.chunks[1].place.file, "__1_0.distcp");
  EXPECT_EQ(entry.chunks[1].box, (Box{{2, 0}, {2, 3}}));
  RankContents contents;
  contents.tensors = {{SourceOfText(Counting(24)), 0}};
  const FileLayout layout = Must(LayOutFile(plan.ranks[1][0], ranks[1], contents));
  EXPECT_EQ(layout.bytes(), entry.chunks[1].place.offset + entry.chunks[1].place.length);
}

TEST(PlanSave, NamesWhatDoesNotFitTogether) {
  std::vector<RankHoldings> ranks(2);
  const auto error = [&](const Box& first, const Box& second) {
    ranks[0].tensors = {Held("w", {4}, first)};
    ranks[1].tensors = {Held("w", {4}, second)};
    return ErrorOf(PlanSave(ranks, {}));
  };
  EXPECT_THAT(error({{0}, {2}}, {{1}, {3}}), HasSubstr("'w' has elements twice"));
  EXPECT_THAT(error({{0}, {2}}, {{3}, {1}}), HasSubstr("'w' of shape [4] lacks 1"));
  EXPECT_THAT(error({{0}, {2}}, {{2}, {3}}), HasSubstr("does not lie within"));
  ranks[1].tensors = {Held("w", {5}, {{2}, {2}})};
  EXPECT_THAT(ErrorOf(PlanSave(ranks, {})), HasSubstr("[5] on another"));
  ranks.resize(1);
  ranks[0].tensors = {Held("q", {4}, WholeOf({4}))};
  ranks[0].tensors[0].dtype = DType::kQInt8;
  EXPECT_THAT(ErrorOf(PlanSave(ranks, {})), HasSubstr("qint8"));
}

TEST(ShareOut, GivesEveryElementOnce) {
  const State state = Must(State::Of(StateOf(1, 7)));
  for (const Sharing sharing : {Sharing::kRows, Sharing::kFull, Sharing::kFlat}) {
    for (const int ranks : {1, 2, 3, 8, 40}) {
      const SharedState shared = Must(ShareOut(state, ranks, sharing));
      ASSERT_EQ(shared.holdings.size(), static_cast<size_t>(ranks));
      EXPECT_TRUE(PlanSave(shared.holdings, {}).ok()) << ranks;  // it checks that nothing is missing or twice
    }
  }
  EXPECT_FALSE(ShareOut(state, 0, Sharing::kRows).ok());
}

TEST(FilePrefix, OfEveryStrategy) {
  EXPECT_EQ(FilePrefix({}, 3, 8), "__3_");
  PrefixOptions options = {.strategy = PrefixStrategy::kBinary};
  EXPECT_EQ(FilePrefix(options, 6, 8), "0110000000/__6_");
  options.epoch = 2;
  EXPECT_EQ(FilePrefix(options, 1, 8), "1000000000/epoch_2/__1_");
  options = {.strategy = PrefixStrategy::kHex, .least_digits = 1};
  EXPECT_EQ(FilePrefix(options, 31, 300), "f10/__31_");
  EXPECT_EQ(Must(ParsePrefixStrategy("hex", 7)).epoch, 7);
  EXPECT_FALSE(ParsePrefixStrategy("default", 0).ok());
  options = Must(ParsePrefixStrategy("x,y/z"));
  EXPECT_EQ(FilePrefix(options, 1, 4), "y/z/__1_");
  for (const char* text : {"", "a,,b", "../x", "/x", "x//y", "a,b/", ".", "./a,b", "a/./b", "a%2E,b"}) {
    EXPECT_FALSE(ParsePrefixStrategy(text).ok()) << text;
  }
}

}  // namespace
}  // namespace assay::checkpoint
