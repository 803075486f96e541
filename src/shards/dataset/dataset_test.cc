// Data sets in memory: what is opened, and what is refused.
#include "shards/dataset/dataset.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "shards/dataset/content.h"
#include "shards/dataset/verify.h"
#include "shards/format/shard_builder.h"
#include "storage/integrity/checksum.h"
#include "storage/memory/memory_store.h"

namespace assay::shards {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two samples a shard, three shards, with a manifest.
class DatasetTest : public testing::Test {
 protected:
  void SetUp() override {
    auto schema = std::make_shared<const ShardSchema>(ShardSchema{.columns = *ParseColumns("a:str")});
    ShardBuilder builder(schema, 0);
    std::string table = SampleTableHead();
    for (int shard = 0; shard < 3; ++shard) {
      for (int i = 0; i < 2; ++i) {
        Row row(1);
        const std::string text = "sample " + std::to_string(2 * shard + i);
        row[0].SetText(FieldKind::kText, text);
        const auto sample = std::make_shared<std::string>();
        ASSERT_TRUE(EncodeSample(*schema, row, *sample).ok());
        const SampleRecord record = {.bytes = static_cast<uint32_t>(sample->size()), .crc32c = Crc(*sample)};
        table.append(reinterpret_cast<const char*>(&record), sizeof(record));
        builder.Add({sample, *sample}, record);
      }
      const BuiltShard built = *builder.Take();
      FinishedShard finished = *FinishShard(built);
      std::string data = built.head;
      for (const SampleBytes& part : built.samples) {
        data += part.bytes;
      }
      Put(finished.data.name, data);
      index_.shards.push_back(finished.entry);
      manifest_.shards.push_back(finished.proof);
    }
    Put(kIndexName, FormatIndex(index_));
    Put("assay/v000001/samples.bin", table);
    manifest_.index_name = kIndexName;
    manifest_.index_sha256 = Sha256Hex(FormatIndex(index_));
    manifest_.content_hash = ContentHash(index_, manifest_.shards);
    manifest_.samples = 6;
    manifest_.tables = {{"assay/v000001/samples.bin", static_cast<int64_t>(table.size()), 3, Crc(table)}};
    Put(kManifestName, FormatManifest(manifest_));
  }

  static uint32_t Crc(std::string_view text) { return storage::Crc32c(0, std::as_bytes(std::span(text))); }

  void Put(const std::string& name, const std::string& content) {
    const storage::Bytes bytes = std::as_bytes(std::span(content));
    ASSERT_TRUE(place_.store->Write(place_.Key(name), {&bytes, 1}, {}).ok());
  }

  std::vector<std::string> Damages() {
    const Dataset dataset = *OpenDataset(place_);
    return VerifyDataset(dataset, 1, [](int64_t) {})->damages;
  }

  DatasetPlace place_ = {.store = std::make_shared<storage::MemoryStore>("test"), .prefix = "set/"};
  DatasetIndex index_;
  Manifest manifest_;
};

TEST_F(DatasetTest, IsReadAndWhole) {
  const Dataset dataset = *OpenDataset(place_);
  EXPECT_EQ(dataset.fingerprint(), manifest_.content_hash);
  const ShardContent content = *LoadShard(dataset, 1);
  ASSERT_EQ(content.samples(), 2);
  Row row;
  std::string scratch;
  ASSERT_TRUE(DecodeSample(*dataset.index.shards[1].schema, content.sample(1), row, scratch).ok());
  EXPECT_EQ(row[0].text, "sample 3");
  EXPECT_THAT(Damages(), IsEmpty());
}

TEST_F(DatasetTest, DamageIsNamedByShardAndSample) {
  const std::string name = index_.shards[1].raw_data.basename;
  std::string content(static_cast<size_t>(index_.shards[1].raw_data.bytes), 'x');
  Put(name, content);
  EXPECT_THAT(Damages(), ElementsAre(HasSubstr(name + " is damaged: its crc32c is another")));
  manifest_.shards[1].crc32c = Crc(content);
  Put(kManifestName, FormatManifest(manifest_));
  EXPECT_THAT(Damages(), ElementsAre(HasSubstr(name + ": ")));
}

TEST_F(DatasetTest, AnIndexThatIsNotTheManifestsIsRefused) {
  index_.shards.pop_back();
  Put(kIndexName, FormatIndex(index_));
  EXPECT_THAT(OpenDataset(place_).status().message(), HasSubstr("index.json does not fit"));
}

TEST_F(DatasetTest, ASizeThatNoShardHasIsNotAllocated) {
  std::string text = FormatIndex(index_);
  text.replace(text.find("\"zip_data\": null"), 16,
               "\"zip_data\": {\"basename\": \"x\", \"bytes\": 999999999999999, \"hashes\": {}}");
  text.replace(text.find("\"compression\": null"), 19, "\"compression\": \"zstd\"");
  place_.prefix = "lying/";
  Put(kIndexName, text);
  const Dataset dataset = *OpenDataset(place_);
  EXPECT_THAT(LoadShard(dataset, 0).status().message(), HasSubstr("999999999999999 bytes: more than a shard can"));
}

TEST_F(DatasetTest, MoreSamplesThanAShardCanHoldAreRefused) {
  std::string text = FormatIndex(index_);
  text.replace(text.find("\"samples\": 2"), 12, "\"samples\": 1152921504606846976");
  place_.prefix = "lying/";
  Put(kIndexName, text);
  EXPECT_THAT(OpenDataset(place_).status().message(), HasSubstr("1152921504606846976 samples: more than a shard can"));
}

TEST_F(DatasetTest, AManifestThatWasLostIsMissed) {
  Put("assay/v000001/manifest.json", FormatManifest(manifest_));
  ASSERT_TRUE(place_.store->Remove(place_.Key(kManifestName)).ok());
  EXPECT_THAT(Damages(), ElementsAre(HasSubstr("manifest.json is missing")));
}

/// Two texts as litdata writes them: u32 samples, u32 offset[3], and of each the size of its only leaf before it.
std::string LitdataChunk() {
  std::string chunk("\2\0\0\0\x10\0\0\0\x19\0\0\0\x22\0\0\0", 16);
  for (const char* text : {"hello", "world"}) {
    chunk += std::string("\5\0\0\0", 4) + text;
  }
  return chunk;
}

TEST_F(DatasetTest, ChunksOfLitdataAreReadThoughNoIndexTellsTheirCompressedSize) {
  place_.prefix = "litdata/";
  Put(kIndexName,
      R"({"chunks": [{"chunk_bytes": 34, "chunk_size": 2, "filename": "chunk-0-0.zstd.bin", "dim": null}],)"
      R"("config": {"compression": "zstd", "data_format": ["str"], "encryption": null, "item_loader": "PyTreeLoader",)"
      R"("data_spec": "[1, {\"type\": \"builtins.list\", \"context\": \"null\", \"children_spec\": )"
      R"([{\"type\": null, \"context\": null, \"children_spec\": []}]}]"}})");
  const std::string stored = *Compress(*Compression::Parse("zstd"), AsBytes(LitdataChunk()));
  Put("chunk-0-0.zstd.bin", stored);
  const Dataset dataset = *OpenDataset(place_);
  const Result<ShardContent> content = LoadShard(dataset, 0);
  ASSERT_EQ(content.status().message(), "");
  Row row(1);
  std::string scratch;
  ASSERT_TRUE(DecodeSample(*dataset.index.shards[0].schema, content->sample(1), row, scratch).ok());
  EXPECT_EQ(row[0].text, "world");
  EXPECT_THAT(Damages(), IsEmpty());
  EXPECT_EQ(dataset.stored_bytes(0), 0);
}

TEST_F(DatasetTest, WhatIsNotThereIsSaid) {
  place_.prefix = "other/";
  EXPECT_EQ(OpenDataset(place_).status().code(), ErrorCode::kNotFound);
  Put(kUnfinishedPlanName, "{}");
  EXPECT_THAT(OpenDataset(place_).status().message(), HasSubstr("has not ended: run it again with --resume"));
}

}  // namespace
}  // namespace assay::shards
