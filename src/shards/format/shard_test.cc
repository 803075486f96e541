// Whole shards, their index, and what is refused of them.
#include <gmock/gmock.h>

#include "base/files.h"
#include "shards/format/compression.h"
#include "shards/format/digest.h"
#include "shards/format/shard_builder.h"
#include "shards/format/shard_layout.h"

namespace assay::shards {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// A value of each column as it is written, field by field.
struct Given {
  std::string text;
  int64_t label;
  std::string tokens;
};

std::vector<Given> GoldenRows() {
  std::vector<Given> rows;
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += "h\xc3\xa9llo";
    std::string tokens = "[0";
    for (int token = 1; token < 3 + i; ++token) {
      tokens += "," + std::to_string(token);
    }
    rows.push_back({text, i - 2, tokens + "]"});
  }
  return rows;
}

std::shared_ptr<const ShardSchema> Schema(ShardSchema schema) {
  return std::make_shared<const ShardSchema>(std::move(schema));
}

std::string TextOf(const BuiltShard& shard) {
  std::string text;
  for (const auto& part : shard.data()) {
    text.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return text;
}

struct Written {
  DatasetIndex index;
  std::vector<std::string> files;
  std::vector<std::string> metas;
};

Written WriteRows(std::shared_ptr<const ShardSchema> schema, const std::vector<Row>& rows) {
  Written written;
  ShardBuilder builder(schema, 0);
  const auto finish = [&] {
    const BuiltShard built = *builder.Take();
    FinishedShard shard = *FinishShard(built);
    written.files.push_back(schema->compression.none() ? TextOf(built) : shard.data.content);
    written.metas.push_back(shard.meta.content);
    written.index.shards.push_back(std::move(shard.entry));
  };
  for (const Row& row : rows) {
    const auto sample = std::make_shared<std::string>();
    EXPECT_EQ(EncodeSample(*schema, row, *sample).message(), "");
    if (builder.IsFullFor(sample->size())) {
      finish();
    }
    builder.Add({sample, *sample}, {.bytes = static_cast<uint32_t>(sample->size())});
  }
  finish();
  return written;
}

std::vector<Row> MdsRows(const std::vector<Given>& given) {
  std::vector<Row> rows;
  for (const Given& one : given) {
    Row row(3);
    row[0].SetInteger(one.label);
    row[1].SetText(FieldKind::kText, one.text);
    row[2].SetText(FieldKind::kJson, one.tokens);
    rows.push_back(std::move(row));
  }
  return rows;
}

ShardSchema GoldenSchema() {
  return {.columns = *ParseColumns("text:str,label:int,tok:ndarray:int32"), .hashes = {"sha1"}, .size_limit = 400};
}

TEST(Mds, IsWrittenAsStreamingWritesIt) {
  const std::vector<Given> given = GoldenRows();
  const Written written = WriteRows(Schema(GoldenSchema()), MdsRows(given));
  ASSERT_EQ(written.files.size(), 2u);
  EXPECT_EQ(Sha256Hex(written.files[0]), "d30aa092054fcf5cfb25b0444fb32b3a9be85424b51a26d6063b91b7fbe2b7b6");
  EXPECT_EQ(Sha256Hex(written.files[1]), "541cbf273491cad3c62ccaacf7c2a226413ecebf9c3669d7bc4c13a1b30873cb");
  EXPECT_EQ(Sha256Hex(FormatIndex(written.index)), "241c3504ec74dbc8b8b41492b4d767b822cbccf4561fe88a786d1b500cc37eeb");
}

TEST(Mds, IsReadAgain) {
  const std::vector<Given> given = GoldenRows();
  const Written written = WriteRows(Schema(GoldenSchema()), MdsRows(given));
  const DatasetIndex index = *ParseIndex(FormatIndex(written.index), "index.json");
  EXPECT_EQ(FormatIndex(index), FormatIndex(written.index));
  EXPECT_EQ(index.shards[0].schema, index.shards[1].schema);
  EXPECT_EQ(index.samples(), 5);
  const Offsets offsets = *FindSamples(index.shards[1], AsBytes(written.files[1]), {});
  EXPECT_THAT(offsets, ElementsAre(235, 301, 377));
  Row row;
  std::string scratch;
  const auto sample = AsBytes(written.files[1]).subspan(offsets[0], offsets[1] - offsets[0]);
  ASSERT_EQ(DecodeSample(*index.shards[1].schema, sample, row, scratch).message(), "");
  EXPECT_EQ(row[0].integer, 1);
  EXPECT_EQ(row[1].text, given[3].text);
  EXPECT_THAT(row[2].shape, ElementsAre(6));
}

TEST(Mds, ASampleOverTheLimitHasAShardForItself) {
  ShardSchema schema{.columns = *ParseColumns("a:str"), .size_limit = 300};
  std::vector<Row> rows(3, Row(1));
  const std::string large(1000, 'x');
  rows[0][0].SetText(FieldKind::kText, large);
  rows[1][0].SetText(FieldKind::kText, "b");
  rows[2][0].SetText(FieldKind::kText, large);
  std::vector<int64_t> samples;
  for (const ShardEntry& shard : WriteRows(Schema(schema), rows).index.shards) {
    samples.push_back(shard.samples);
  }
  EXPECT_THAT(samples, ElementsAre(1, 1, 1));
}

TEST(Shards, OfMoreBytesThanCanBeReadAreNotMade) {
  for (const ShardFormat format : {ShardFormat::kMds, ShardFormat::kWebDataset}) {
    const ShardSchema schema{.format = format, .columns = *ParseColumns("text:str")};
    ShardBuilder builder(std::make_shared<const ShardSchema>(schema), 0);
    builder.Add({}, {.bytes = uint32_t{3} << 30});
    builder.Add({}, {.bytes = uint32_t{1} << 30});
    EXPECT_THAT(builder.Take().status().message(), HasSubstr("4 GiB and more"));
  }
}

TEST(WebDatasetShards, AreWithinTheLimitWithTheEndOfTheTar) {
  const ShardSchema schema{
      .format = ShardFormat::kWebDataset, .columns = *ParseColumns("text:str"), .size_limit = 20480};
  ShardBuilder builder(std::make_shared<const ShardSchema>(schema), 0);
  const auto sample = std::make_shared<const std::string>(5120, 'x');
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(builder.IsFullFor(sample->size()));
    builder.Add({sample, *sample}, {.bytes = 5120});
  }
  EXPECT_TRUE(builder.IsFullFor(sample->size()));
  EXPECT_EQ(TextOf(*builder.Take()).size(), 20480u);
}

TEST(SplitShards, AreLinesWithOffsetsBeside) {
  ShardSchema schema{.format = ShardFormat::kXsv, .format_name = "csv", .columns = *ParseColumns("a:int,b:str")};
  std::vector<Row> rows(2, Row(2));
  rows[0][0].SetInteger(1);
  rows[0][1].SetText(FieldKind::kText, "x");
  rows[1][0].SetInteger(-22);
  rows[1][1].SetText(FieldKind::kText, "yy");
  const Written csv = WriteRows(Schema(schema), rows);
  EXPECT_EQ(csv.files[0], "a,b\n1,x\n-22,yy\n");
  EXPECT_THAT(*FindSamples(csv.index.shards[0], AsBytes(csv.files[0]), AsBytes(csv.metas[0])), ElementsAre(4, 8, 15));
  schema.format = ShardFormat::kJson;
  schema.format_name = "json";
  const Written json = WriteRows(Schema(schema), rows);
  EXPECT_EQ(json.files[0], "{\"a\": 1, \"b\": \"x\"}\n{\"a\": -22, \"b\": \"yy\"}\n");
  const DatasetIndex index = *ParseIndex(FormatIndex(json.index), "index.json");
  Row row;
  std::string scratch;
  ASSERT_EQ(DecodeSample(*index.shards[0].schema, AsBytes(json.files[0]).subspan(0, 19), row, scratch).message(), "");
  EXPECT_EQ(row[1].text, "x");
}

TEST(SplitShards, RefuseTextThatWouldSplit) {
  const ShardSchema schema{.format = ShardFormat::kXsv, .format_name = "csv", .columns = *ParseColumns("a:str")};
  Row row(1);
  row[0].SetText(FieldKind::kText, "x,y");
  std::string out;
  EXPECT_THAT(EncodeSample(schema, row, out).message(), HasSubstr("column 'a': it holds a separator"));
}

TEST(Offsets, ThatLieAreRefused) {
  const auto table = [](std::vector<uint32_t> words) {
    return std::string(reinterpret_cast<const char*>(words.data()), words.size() * 4);
  };
  const auto refusal = [](const std::string& table) {
    return ReadOffsets(AsBytes(table), 2, 16, 30).status().message();
  };
  EXPECT_EQ(refusal(table({2, 16, 20, 30})), "");
  EXPECT_THAT(refusal(table({3, 16, 20, 30})), HasSubstr("it counts 3 samples, the index 2"));
  EXPECT_THAT(refusal(table({2, 16, 15, 30})), HasSubstr("sample 1 begins at 15, before 16"));
  EXPECT_THAT(refusal(table({2, 12, 20, 30})), HasSubstr("sample 0 begins at 12, before 16"));
  EXPECT_THAT(refusal(table({2, 16, 20, 31})), HasSubstr("ends at 31, the file at 30"));
  EXPECT_THAT(refusal(table({2, 16})), HasSubstr("no room for 2"));
}

TEST(Index, NamesWhatIsWrong) {
  const std::string good = FormatIndex(WriteRows(Schema(GoldenSchema()), MdsRows(GoldenRows())).index);
  const auto refusal = [&](std::string_view from, std::string_view to) {
    std::string changed = good;
    changed.replace(changed.find(from), from.size(), to);
    return ParseIndex(changed, "index.json").status().message();
  };
  EXPECT_THAT(refusal("\"samples\": 3", "\"samples\": -3"), HasSubstr("index.json: shard 0: samples: it is no number"));
  EXPECT_THAT(refusal("shard.00000.mds", "../shard.mds"), HasSubstr("'../shard.mds' is no name of a file within"));
  EXPECT_THAT(refusal("shard.00000.mds", "/etc/passwd"), HasSubstr("is no name of a file within"));
  EXPECT_THAT(refusal("\"mds\"", "\"mdx\""), HasSubstr("its format 'mdx' is none of"));
  EXPECT_THAT(refusal("\"str\"", "\"pkl\""), HasSubstr("shard 0: column 'text': the encoding 'pkl'"));
  EXPECT_THAT(refusal("[8, null", "[4, null"), HasSubstr("column 'label' of int has another size"));
  EXPECT_THAT(refusal("\"raw_data\"", "\"raw\""), HasSubstr("'raw_data' is missing"));
  EXPECT_THAT(refusal("{\"shards\"", "{\"shard"), HasSubstr("is no JSON"));
}

TEST(Compression, GivesBackWhatWentIn) {
  const std::string raw(100'000, 'a');
  for (const std::string name : {"br:5", "bz2", "gz", "snappy", "zstd", "zstd:19"}) {
    const Compression compression = *Compression::Parse(name);
    const std::string packed = *Compress(compression, AsBytes(raw));
    EXPECT_LT(packed.size(), raw.size() / 10) << name;
    std::string back(raw.size(), '\0');
    EXPECT_EQ(Decompress(compression, AsBytes(packed), std::as_writable_bytes(std::span(back))).message(), "") << name;
    EXPECT_EQ(back, raw) << name;
    // A bomb: more than the index says.
    back.resize(10);
    EXPECT_FALSE(Decompress(compression, AsBytes(packed), std::as_writable_bytes(std::span(back))).ok()) << name;
    back.resize(raw.size() + 1);
    EXPECT_FALSE(Decompress(compression, AsBytes(packed), std::as_writable_bytes(std::span(back))).ok()) << name;
    back.resize(raw.size());
    EXPECT_FALSE(
        Decompress(compression, AsBytes(packed).first(packed.size() / 2), std::as_writable_bytes(std::span(back))).ok())
        << name;
  }
  EXPECT_THAT(Compression::Parse("zip").status().message(), HasSubstr("br, bz2, gz, snappy, zstd"));
  EXPECT_THAT(Compression::Parse("zstd:23").status().message(), HasSubstr("levels of zstd are 1 to 22"));
  EXPECT_THAT(Compression::Parse("snappy:1").status().message(), HasSubstr("snappy has no levels"));
}

TEST(Digest, IsPythons) {
  const std::span<const std::byte> parts[] = {AsBytes("ab"), AsBytes("c")};
  EXPECT_EQ(*HashHex("md5", parts), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(*HashHex("sha1", parts), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(*HashHex("xxh32", parts), "32d153ff");
  EXPECT_EQ(*HashHex("xxh64", parts), "44bc2cf5ad770999");
  EXPECT_EQ(*HashHex("xxh3_64", parts), "78af5f94892f3950");
  EXPECT_EQ(*HashHex("xxh128", parts), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(*HashHex("xxh3_128", parts), *HashHex("xxh128", parts));
  const std::string unsorted[] = {"sha1", "md5"};
  EXPECT_THAT(CheckHashNames(unsorted).message(), HasSubstr("'md5' comes behind 'sha1'"));
  const std::string unknown[] = {"sha265"};
  EXPECT_THAT(CheckHashNames(unknown).message(), HasSubstr("did you mean 'sha256'?"));
}

TEST(Manifest, IsReadAgain) {
  Manifest manifest{.version = 2,
                    .index_name = "assay/v000002/index.json",
                    .index_sha256 = "ab",
                    .content_hash = "cd",
                    .samples = 7,
                    .tokens = 70,
                    .tables = {{"assay/v000001/samples.bin", 100, 1, 0xdeadbeef}},
                    .shards = {{1, 0, "ff", 239}}};
  const Manifest read = *ParseManifest(FormatManifest(manifest), "manifest.json");
  EXPECT_EQ(FormatManifest(read), FormatManifest(manifest));
  EXPECT_THAT(ParseManifest("{\"format\": 2}", "m").status().message(), HasSubstr("a newer assay wrote it"));
}

}  // namespace
}  // namespace assay::shards
