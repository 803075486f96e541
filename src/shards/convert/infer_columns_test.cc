#include "shards/convert/infer_columns.h"

#include <gmock/gmock.h>

#include "storage/memory/memory_store.h"

namespace assay::shards {
namespace {

using testing::HasSubstr;

SourceFile Source(RowFormat format) {
  return {.store = std::make_shared<storage::MemoryStore>("test"), .info = {.key = "rows"}, .format = format};
}

/// "name:encoding name:encoding", or the error.
std::string Inferred(RowFormat format, const std::string& text, std::vector<std::string> names = {}) {
  const auto columns = InferColumns(Source(format), {.names = std::move(names)}, {.owner = {}, .text = text});
  if (!columns.ok()) {
    return columns.status().message();
  }
  std::string all;
  for (const Column& column : *columns) {
    all += (all.empty() ? "" : " ") + column.name + ":" + column.encoding.name;
  }
  return all;
}

TEST(InferColumns, OfJson) {
  EXPECT_EQ(
      Inferred(RowFormat::kJsonLines,
               "{\"t\": \"a\", \"i\": -1, \"f\": 1, \"b\": true, \"l\": [1], \"n\": null, \"u\": 1}\n\n"
               "{\"t\": \"\", \"i\": 2, \"f\": 1.5, \"b\": false, \"l\": {}, \"n\": 3, \"u\": 9223372036854775808}"),
      "b:uint8 f:float64 i:int l:json n:json t:str u:uint64");
  EXPECT_THAT(Inferred(RowFormat::kJsonLines, "{\"a\": 1}\n{\"a\": \"x\"}\n"),
              HasSubstr("rows:2: column 'a' is text, in line 1 it is an integer"));
  EXPECT_THAT(Inferred(RowFormat::kJsonLines, "{\"a\": 1}\n{\"a\": 1\n"), HasSubstr("rows:2: it is no JSON"));
}

TEST(InferColumns, OfCsv) {
  EXPECT_EQ(Inferred(RowFormat::kCsv, "1,2.5,007,x\n-2,3,8,\"a,b\"\n", {"i", "f", "z", "t"}),
            "f:float64 i:int t:str z:str");
  EXPECT_EQ(Inferred(RowFormat::kCsv, "007.5,0.5,-0,0\n", {"z", "f", "m", "i"}), "f:float64 i:int m:int z:str");
  EXPECT_EQ(Inferred(RowFormat::kCsv, "", {"a"}), "a:str");
}

}  // namespace
}  // namespace assay::shards
