#include "shards/convert/synthetic.h"

#include <gmock/gmock.h>

#include <set>

#include "image/decode.h"
#include "shards/convert/convert.h"
#include "shards/dataset/verify.h"
#include "storage/memory/memory_store.h"

namespace assay::shards {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

SyntheticRows Rows(std::string_view shape, uint64_t seed = 0, int64_t values = 5) {
  SyntheticRows rows;
  EXPECT_EQ(rows.SetShape(shape).message(), "") << shape;
  rows.seed = seed;
  rows.values = values;
  return rows;
}

struct Drawn {
  std::string first;
  std::string second;
};

Drawn Draw(const SyntheticRows& rows, int64_t number) {
  Row row(rows.Columns().size());
  std::string memory;
  EXPECT_EQ(rows.Draw(number, row, memory).message(), "");
  return {std::string(row[0].text), row.size() > 1 ? std::string(row[1].text) : std::string()};
}

TEST(SyntheticRows, AreOfTheirShape) {
  std::set<size_t> sizes;
  for (int64_t i = 0; i < 200; ++i) {
    const Drawn text = Draw(Rows("text:1KiB"), i);
    EXPECT_EQ(text.first.size() + text.second.size(), 1024u);
    EXPECT_EQ(text.second.size(), 256u);
    sizes.insert(Draw(Rows("tokens:3-7"), i).first.size());
  }
  EXPECT_EQ(sizes, (std::set<size_t>{12, 16, 20, 24, 28}));
  const std::string file = Draw(Rows("image:20"), 3).first;
  const auto image = image::DecodeImage(std::as_bytes(std::span(file)));
  ASSERT_EQ(image.status().message(), "");
  EXPECT_EQ(image->width, 20);
  EXPECT_EQ(image->height, 20);
}

TEST(SyntheticRows, FollowFromTheirSeedAndNumber) {
  for (const char* shape : {"text:100", "tokens:100", "image:9"}) {
    EXPECT_EQ(Draw(Rows(shape), 7).first, Draw(Rows(shape), 7).first);
    EXPECT_NE(Draw(Rows(shape), 7).first, Draw(Rows(shape), 8).first);
    EXPECT_NE(Draw(Rows(shape), 7).first, Draw(Rows(shape, 1), 7).first);
  }
}

TEST(SyntheticRows, AreConvertedWholeWhateverTheThreads) {
  const auto store = std::make_shared<storage::MemoryStore>("test");
  SyntheticRows rows = Rows("text:10-3000");
  rows.samples = 9'000;  // several blocks
  const SourceFile source = SyntheticSource(rows);
  std::string hash;
  for (const int threads : {1, 3}) {
    const DatasetPlace place{.store = store, .prefix = "set" + std::to_string(threads) + "/"};
    const auto report = Convert({&source, 1}, place, {.size_limit = 1 << 20, .threads = threads});
    ASSERT_EQ(report.status().message(), "");
    EXPECT_EQ(report->rows, rows.samples);
    EXPECT_THAT(VerifyDataset(*OpenDataset(place), 1, [](int64_t) {})->damages, IsEmpty());
    EXPECT_TRUE(hash.empty() || hash == report->content_hash);
    hash = report->content_hash;
  }
}

TEST(SyntheticRows, RefuseShapesByName) {
  const auto refusal = [](std::string_view shape) { return SyntheticRows().SetShape(shape).message(); };
  EXPECT_THAT(refusal("words:5"), HasSubstr("'words:5' is no shape: it is text:BYTES"));
  EXPECT_THAT(refusal("text"), HasSubstr("is no shape"));
  EXPECT_THAT(refusal("text:0"), HasSubstr("0 of text: 1 to"));
  EXPECT_THAT(refusal("image:9000"), HasSubstr("1 to 8192"));
  EXPECT_THAT(refusal("tokens:9-3"), HasSubstr("name the smaller first"));
  EXPECT_THAT(refusal("tokens:x"), HasSubstr("x"));
}

}  // namespace
}  // namespace assay::shards
