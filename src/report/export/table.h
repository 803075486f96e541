// What a report shows of its configurations as one table of typed columns: what its exports write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report_content.h"
#include "space/entity.h"

namespace assay::report {

enum class ColumnType { kText, kInteger, kReal, kBoolean };

/// Cells are None where there is nothing, else of the column's type (an integer also in a column of reals).
struct Column {
  std::string name;
  ColumnType type = ColumnType::kText;
  std::vector<space::Value> cells;
};

/// All columns are equally long.
using Table = std::vector<Column>;

/// A row for each configuration, in their order: its state and why it has no values, what varies, of each metric the
/// estimate with its interval and what that rests on, on which fronts with the first metric it is, the step time that
/// the other batch sizes foretell, and the uids of its runs. Then a row for each point that was not measured.
Table ConfigurationTable(const ReportContent& content);

/// First name in every export, by which one is known.
inline constexpr std::string_view kFirstColumn = "configuration";

/// RFC 4180, with a header and CRLF line ends. Numbers are exact; None is empty.
std::string ToCsv(const Table& table);

/// "assay" and its version: who made a Parquet file.
inline constexpr std::string_view kParquetCreator = "assay report";

/// A Parquet file of one row group: every column optional, plain, not compressed.
/// https://github.com/apache/parquet-format
std::string ToParquet(const Table& table);

}  // namespace assay::report
