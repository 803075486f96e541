#include "shards/convert/csv.h"

#include <gmock/gmock.h>

namespace assay::shards {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Csv, RecordsEndAtNewlinesOutsideQuotes) {
  EXPECT_EQ(CsvRecordEnd("a,b\nc", ',', false), 4u);
  EXPECT_EQ(CsvRecordEnd("\"a\n\"\"\n\",b\nc", ',', false), 10u);
  EXPECT_EQ(CsvRecordEnd("a\"b\nc", ',', false), 4u);  // a quote within a field is text
  EXPECT_EQ(CsvRecordEnd("a,b", ',', false), std::nullopt);
  EXPECT_EQ(CsvRecordEnd("a,b", ',', true), 3u);
  EXPECT_EQ(CsvRecordEnd("\"a\"", ',', false), std::nullopt);  // the next byte may double the quote
  EXPECT_EQ(CsvRecordEnd("", ',', true), std::nullopt);
}

TEST(Csv, FieldsAreUnquoted) {
  std::vector<std::string_view> fields;
  std::string unquoted;
  ASSERT_TRUE(SplitCsvRecord("a,,\"b,\"\"c\"\"\n\",\"\"\r\n", ',', fields, unquoted).ok());
  EXPECT_THAT(fields, ElementsAre("a", "", "b,\"c\"\n", ""));
  ASSERT_TRUE(SplitCsvRecord("a\tb,c", '\t', fields, unquoted).ok());
  EXPECT_THAT(fields, ElementsAre("a", "b,c"));
  EXPECT_THAT(SplitCsvRecord("\"a\"b", ',', fields, unquoted).message(), HasSubstr("goes on behind its closing quote"));
  EXPECT_THAT(SplitCsvRecord("a,\"b", ',', fields, unquoted).message(), HasSubstr("field 2 is not closed"));
}

}  // namespace
}  // namespace assay::shards
