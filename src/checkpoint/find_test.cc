#include "checkpoint/find.h"

#include "checkpoint/convert.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/manage.h"
#include "checkpoint/safetensors/safetensors_header.h"
#include "checkpoint/safetensors/safetensors_reader.h"
#include "checkpoint/testing.h"
#include "storage/decorator/counting_store.h"

namespace assay::checkpoint {
namespace {

using testing::HasSubstr;

std::string PointerOf(const std::vector<std::string>& names) {
  FileList files;
  for (const std::string& name : names) {
    files[name].key = name;
  }
  const std::optional<PointerFile> pointer = PointerInFolder(files);
  return pointer ? pointer->name : "";
}

TEST(PointerInFolder, IsNoFileThatTrainingLeavesBesideWeights) {
  EXPECT_EQ(PointerOf({"optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin"}), "");
  EXPECT_EQ(PointerOf({"epoch.ckpt", "optimizer.pt"}), "epoch.ckpt");
  EXPECT_EQ(PointerOf({"weights.pt", "optimizer.pt", "random_states_0.pth"}), "weights.pt");
}

TEST(PointerInFolder, IsNoneWhereSeveralOfThePreferredFormCouldBe) {
  EXPECT_EQ(PointerOf({"epoch1.ckpt", "epoch2.ckpt", "optimizer.pt"}), "");
  EXPECT_EQ(PointerOf({"epoch1.ckpt", "epoch2.ckpt", "last.pt"}), "");
  EXPECT_EQ(PointerOf({"a.safetensors", "b.safetensors", "pytorch_model.bin"}), "pytorch_model.bin");
  EXPECT_EQ(PointerOf({"model.safetensors", "lora.safetensors"}), "model.safetensors");
}

TEST(NoCheckpoint, NamesTheFilesThatCouldBeIt) {
  const auto store = std::make_shared<storage::MemoryStore>("test");
  const Place place = {store, "two/", true, nullptr};
  for (const char* key : {"two/epoch1.ckpt", "two/epoch2.ckpt", "two/optimizer.pt"}) {
    ASSERT_TRUE(store->Write(key, {}, {}).ok());
  }
  EXPECT_FALSE(Must(FindCheckpoint(place)).has_value());
  EXPECT_THAT(NoCheckpoint(place).message(), HasSubstr("epoch1.ckpt and epoch2.ckpt"));
}

/// The file again with one tensor more and the same texts, as safetensors.torch.save_file(..., metadata=f.metadata()).
std::string WithOneTensorMore(const std::string& file) {
  const SafetensorsFile read = Must(ReadSafetensorsFile(SourceOfText(file)));
  std::vector<SafetensorsEntry> entries = read.header.entries;
  entries.push_back({.name = "extra", .dtype = DType::kUInt8, .shape = {1}});
  std::string data;
  for (const SafetensorsEntry& entry : read.header.entries) {
    data += file.substr(static_cast<size_t>(entry.begin), static_cast<size_t>(entry.end - entry.begin));
  }
  std::map<std::string, std::string> metadata = read.header.metadata;
  metadata.erase(kSaveIdKey);
  return Must(MakeSafetensorsHead(entries, metadata)) + data + "x";
}

/// What an OpenCheckpoint() of `root`, saved as `format`, reads; and the bytes of its files.
struct Opened {
  storage::OperationCounts reads;
  int64_t bytes = 0;
  Checkpoint checkpoint;
};

Opened SaveAndOpen(Value root, Format format, const char* key) {
  const auto memory = std::make_shared<storage::MemoryStore>("test");
  const auto counters = std::make_shared<storage::StoreCounters>();
  const Place place = {std::make_shared<storage::CountingStore>(memory, counters), key, format == Format::kDcp};
  EXPECT_TRUE(Convert(CheckpointOf(std::move(root)), place, {.format = format}).ok());
  const auto before = counters->Snapshot().operations["read"];
  Opened opened;
  opened.checkpoint = Must(OpenCheckpoint(place));
  opened.reads = counters->Snapshot().operations["read"];
  opened.reads.calls -= before.calls;
  opened.reads.bytes -= before.bytes;
  for (const auto& [name, content] : ContentOf(*memory)) {
    opened.bytes += static_cast<int64_t>(content.size());
  }
  return opened;
}

TEST(OpenCheckpoint, FetchesTheValuesOfADcpTogether) {
  std::vector<std::pair<Value, Value>> items;
  for (int i = 0; i < 300; ++i) {
    items.emplace_back(Value::Text("v" + std::to_string(i)), Value(int64_t{i}));
  }
  const Opened opened = SaveAndOpen(Value::MakeDict(std::move(items)), Format::kDcp, "x/");
  EXPECT_EQ(*opened.checkpoint.state.root.Find("v299")->get<int64_t>(), 299);
  EXPECT_THAT(opened.reads.calls, testing::Le(12));
  EXPECT_THAT(opened.reads.bytes, testing::Le(3 * opened.bytes));
}

TEST(OpenCheckpoint, ReadsNoHeaderOfARecordWhosePlaceTheManifestTells) {
  std::vector<std::pair<Value, Value>> items;
  for (int i = 0; i < 24; ++i) {
    items.emplace_back(Value::Text("w" + std::to_string(i)),
                       Value(TensorOf(DType::kUInt8, {kSegmentBytes}, Counting(kSegmentBytes, i))));
  }
  const Opened opened = SaveAndOpen(Value::MakeDict(std::move(items)), Format::kTorch, "x.pt");
  const auto last = opened.checkpoint.state.root.Find("w23")->tensor();
  EXPECT_EQ(BytesOfTensor(last), Counting(kSegmentBytes, 23));
  EXPECT_THAT(opened.reads.bytes, testing::Le(opened.bytes / 3));
}

/// What a rank of `metadata` would have written with use_collectives=False.
std::string MetadataOfRank(DcpMetadata metadata, int rank) {
  const std::string own = "__" + std::to_string(rank) + "_";
  for (DcpEntry& entry : metadata.entries) {
    std::erase_if(entry.chunks, [&](const DcpChunk& chunk) { return !chunk.place.file.starts_with(own); });
  }
  std::erase_if(metadata.entries, [](const DcpEntry& entry) { return entry.chunks.empty(); });
  metadata.save_id = "";
  return WriteDcpMetadata(metadata);
}

TEST(OpenCheckpoint, LacksNothingWhereEveryRankHasItsOwnMetadata) {
  const auto store = std::make_shared<storage::MemoryStore>("test");
  const Place place = {store, "x/", true, nullptr};
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(1)), place, {.format = Format::kDcp, .ranks = 3}).ok());
  const Found found = *Must(FindCheckpoint(place));
  const DcpMetadata whole = Must(ReadDcpMetadata(ContentOf(*store).at("x/.metadata"), "m"));
  for (const std::string& name : {std::string(".metadata"), found.manifest_name}) {
    ASSERT_TRUE(store->Remove("x/" + name).ok());
  }
  std::vector<std::string> written;
  for (int rank = 0; rank < 3; ++rank) {
    written.push_back(MetadataOfRank(whole, rank));
    const storage::Bytes bytes = std::as_bytes(std::span(written.back()));
    ASSERT_TRUE(store->Write("x/__" + std::to_string(rank) + ".metadata", std::span(&bytes, 1), {}).ok());
  }
  EXPECT_EQ(Must(OpenCheckpoint(place)).state.leaves.size(), 4u);
  EXPECT_EQ(Must(NamesOf(*Must(FindCheckpoint(place)))).size(), 6u);
  for (const int lost : {1, 2}) {
    const std::string name = "__" + std::to_string(lost) + ".metadata";
    ASSERT_TRUE(store->Remove("x/" + name).ok());
    EXPECT_THAT(ErrorOf(OpenCheckpoint(place)), HasSubstr(name + " is missing"));
    const storage::Bytes bytes = std::as_bytes(std::span(written[static_cast<size_t>(lost)]));
    ASSERT_TRUE(store->Write("x/" + name, std::span(&bytes, 1), {}).ok());
  }
  ASSERT_TRUE(RemoveCheckpoint(*Must(FindCheckpoint(place))).ok());
  EXPECT_THAT(ContentOf(*store), testing::IsEmpty());
}

TEST(OpenCheckpoint, DropsNoTensorThatAnotherProgramAdded) {
  const auto store = std::make_shared<storage::MemoryStore>("test");
  const Place place = {store, "x.safetensors", false, nullptr};
  const ConvertOptions options = {.format = Format::kSafetensors};
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(1)), place, options).ok());
  EXPECT_EQ(Must(OpenCheckpoint(place)).state.leaves.size(), 4u);
  const std::string changed = WithOneTensorMore(ContentOf(*store).at("x.safetensors"));
  const storage::Bytes bytes = std::as_bytes(std::span(changed));
  ASSERT_TRUE(store->Write("x.safetensors", std::span(&bytes, 1), {}).ok());
  EXPECT_THAT(ErrorOf(OpenCheckpoint(place)), HasSubstr("'extra' has no place"));
}

}  // namespace
}  // namespace assay::checkpoint
