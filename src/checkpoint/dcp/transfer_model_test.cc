#include "checkpoint/dcp/transfer_model.h"

#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/testing.h"

namespace assay::checkpoint {
namespace {

constexpr int64_t kMib = int64_t{1} << 20;

StoreLimits Bucket() {
  return {.read_seconds = 0.025,
          .write_seconds = 0.04,
          .slow_write_seconds = 0.2,
          .slow_read_seconds = 0.15,
          .connection_bytes_per_s = 90e6,
          .machine_bytes_per_s = 1250e6,
          .prefix_reads_per_s = 5500,
          .prefix_writes_per_s = 3500};
}

ModelledRanks RanksOf(int64_t ranks, int64_t bytes_of_each) {
  return {.bytes = std::vector<int64_t>(static_cast<size_t>(ranks), bytes_of_each), .chunks = 300 * ranks};
}

TEST(TransferModel, OneRankMovesWhatItsMachineMoves) {
  ModelledRanks one = RanksOf(1, 1250 * 1000 * 1000);
  const ModelledTransfer save = ModelTransfer(one, Bucket(), Transfer::kSave);
  EXPECT_EQ(save.limited_by, "the machine");
  EXPECT_NEAR(save.rank_seconds[0], 1.0, 0.5);
  EXPECT_EQ(save.files, 1);
  EXPECT_EQ(save.requests, 150 + 2 + 1);  // parts of 8 MiB, begin and end, asked for once
  one.bytes = {20 * kMib};
  EXPECT_EQ(ModelTransfer(one, Bucket(), Transfer::kSave).limited_by, "connections");
  one.bytes = {4096};
  one.chunks = 0;
  EXPECT_EQ(ModelTransfer(one, Bucket(), Transfer::kLoad).limited_by, "latency");
}

TEST(TransferModel, ManySmallFilesMeetTheLimitOfAPrefixUnlessThereAreMany) {
  ModelledRanks ranks = RanksOf(4096, 64 * kMib);
  ranks.chunks = 0;
  ranks.files_per_rank = 8;
  ModelledTransfer save = ModelTransfer(ranks, Bucket(), Transfer::kSave);
  EXPECT_EQ(save.prefixes, 1);
  EXPECT_EQ(save.files, 8 * 4096);
  EXPECT_EQ(save.busiest_prefix_requests, 8 * 4096);
  EXPECT_NEAR(*std::ranges::max_element(save.rank_seconds), 8 * 4096 / 3500.0, 1e-9);
  EXPECT_EQ(save.limited_by, "commit") << "32,768 files are asked for by one rank";
  ranks.prefix.strategy = PrefixStrategy::kHex;
  save = ModelTransfer(ranks, Bucket(), Transfer::kSave);
  EXPECT_EQ(save.prefixes, 4096);
  EXPECT_LT(*std::ranges::max_element(save.rank_seconds), 1);
}

TEST(TransferModel, TwiceTheRanksOfTwiceTheMachinesTakeHalfTheTimeUntilTheCommitCounts) {
  const int64_t state = int64_t{28} << 30;
  double before = 0;
  for (const int64_t ranks : {8, 16, 32}) {
    const ModelledTransfer save = ModelTransfer(RanksOf(ranks, state / ranks), Bucket(), Transfer::kSave);
    const double seconds = *std::ranges::max_element(save.rank_seconds);
    if (before > 0) {
      EXPECT_NEAR(seconds / before, 0.5, 0.05);
    }
    before = seconds;
  }
  EXPECT_EQ(ModelTransfer(RanksOf(4096, state / 4096), Bucket(), Transfer::kSave).limited_by, "commit");
}

TEST(TransferModel, EveryRankReadsAllMetadata) {
  ModelledRanks ranks = RanksOf(4096, kMib);
  ranks.chunks = 4096 * 1000;
  const ModelledTransfer load = ModelTransfer(ranks, Bucket(), Transfer::kLoad);
  EXPECT_GT(load.metadata_bytes, int64_t{1} << 29);
  EXPECT_EQ(load.limited_by, "metadata");
  EXPECT_EQ(load.commit_seconds, 0);
}

TEST(TransferModel, IsLimitedByWhatTheSlowestRankWaitsFor) {
  ModelledRanks ranks = RanksOf(2, int64_t{100} << 30);
  ranks.bytes[1] = 0;
  ranks.chunks = 300'000;
  StoreLimits limits = Bucket();
  limits.prefix_reads_per_s = 0;  // which the second rank would wait for too
  EXPECT_EQ(ModelTransfer(ranks, limits, Transfer::kLoad).limited_by, "the machine");
}

/// What the model takes for the size of a chunk's entry is about what there is.
TEST(TransferModel, KnowsTheSizeOfMetadata) {
  DcpMetadata metadata{.save_id = "s", .checkpoint_id = "c"};
  for (int tensor = 0; tensor < 40; ++tensor) {
    DcpEntry entry{.name = "layers." + std::to_string(tensor) + ".self_attn.q_proj.weight", .is_tensor = true};
    entry.path = {entry.name};
    entry.shape = {4096, 4096};
    for (int64_t rank = 0; rank < 64; ++rank) {
      entry.chunks.push_back({.box = {{rank * 64, 0}, {64, 4096}},
                              .place = {"__" + std::to_string(rank) + "_0.distcp", int64_t{tensor} << 30, 1 << 20}});
    }
    metadata.entries.push_back(entry);
  }
  const auto bytes = std::ssize(WriteDcpMetadata(metadata));
  ModelledRanks ranks = RanksOf(64, kMib);
  ranks.chunks = 40 * 64;
  const ModelledTransfer load = ModelTransfer(ranks, {}, Transfer::kLoad);
  EXPECT_LT(load.metadata_bytes, 3 * bytes);
  EXPECT_GT(3 * load.metadata_bytes, bytes);
}

}  // namespace
}  // namespace assay::checkpoint
