#include "report/export/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/export/thrift.h"
#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using ::testing::HasSubstr;
using testing::MakeInvalid;
using testing::MakeValid;
using ::testing::StartsWith;

Table TableOf(const std::vector<Measurement>& measurements, std::span<const UnmeasuredPoint> unmeasured = {}) {
  const ReportInput input{.title = "T", .measurements = measurements, .unmeasured = unmeasured};
  return ConfigurationTable(ReportContent(input));
}

const Column& ColumnOf(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Column::name);
  EXPECT_NE(found, table.end()) << name;
  return *found;
}

TEST(ExportTableTest, HoldsARowForEachConfigurationAndEachPointThatIsMissing) {
  const std::vector<Measurement> measurements = {MakeValid({.batch_size = 4}),
                                                 MakeInvalid({.batch_size = 8}, "out of memory")};
  space::Entity entity = measurements[0].entity;
  entity["batch_size"] = int64_t{16};
  const UnmeasuredPoint missing[] = {{measurements[0].experiment, measurements[0].parameterized_id, entity}};
  const Table table = TableOf(measurements, missing);
  for (const Column& column : table) {
    EXPECT_EQ(column.cells.size(), 3u) << column.name;
  }
  EXPECT_EQ(ColumnOf(table, "state").cells[1], space::Value(std::string("out_of_memory")));
  EXPECT_EQ(ColumnOf(table, "state").cells[2], space::Value(std::string("missing")));
  EXPECT_EQ(ColumnOf(table, "batch_size").cells[2], space::Value(int64_t{16}));
  EXPECT_EQ(ColumnOf(table, "batch_size").type, ColumnType::kInteger);
  EXPECT_EQ(ColumnOf(table, "throughput").cells[0], measurements[0].properties.at("real_tokens_per_second"));
  EXPECT_EQ(ColumnOf(table, "throughput").cells[1], space::Value());
  EXPECT_EQ(ColumnOf(table, "throughput_n").cells[0], space::Value(int64_t{24}));
  EXPECT_EQ(ColumnOf(table, "run_uids").cells[0], space::Value(measurements[0].uid));
}

TEST(ExportTableTest, CsvQuotesWhatNeedsIt) {
  const Table table = {{"configuration", ColumnType::kInteger, {int64_t{1}, space::Value()}},
                       {"a \"b\"", ColumnType::kText, {std::string("x,\ny"), std::string("z")}}};
  EXPECT_EQ(ToCsv(table), "configuration,\"a \"\"b\"\"\"\r\n1,\"x,\ny\"\r\n,z\r\n");
}

TEST(ExportTableTest, AParquetFileBeginsAndEndsAsOneAndNamesItsMaker) {
  const std::string file = ToParquet(TableOf({MakeValid({})}));
  EXPECT_THAT(file, StartsWith("PAR1"));
  EXPECT_TRUE(file.ends_with("PAR1"));
  EXPECT_THAT(file, HasSubstr(kParquetCreator));
}

// The examples of the protocol's specification: ids of fields as deltas, zigzag numbers, long lists.
TEST(ThriftTest, WritesTheCompactProtocol) {
  ThriftWriter writer;
  writer.I32(1, 150);
  writer.Text(4, "ab");
  writer.BeginStruct(20);
  writer.I64(1, -1);
  writer.EndStruct();
  writer.I32List(21, std::vector<int32_t>(15, 1));
  EXPECT_EQ(std::move(writer).Finish(), std::string("\x15\xac\x02"
                                                    "\x38\x02"
                                                    "ab"
                                                    "\x0c\x28\x16\x01\x00"
                                                    "\x19\xf5\x0f"
                                                    "\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02"
                                                    "\x00",
                                                    31));
}

}  // namespace
}  // namespace assay::report
