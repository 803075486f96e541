#include "report/export/parquet.h"

#include <bit>
#include <cstring>

#include "report/export/thrift.h"

namespace assay::report {
namespace {

using space::Value;

// Of parquet.thrift.
constexpr int32_t kOptional = 1;
constexpr int32_t kUtf8 = 0;
constexpr int32_t kPlain = 0;
constexpr int32_t kRle = 3;
constexpr int32_t kDataPage = 0;
constexpr int32_t kUncompressed = 0;
constexpr int32_t kVersion = 1;
constexpr char kMagic[] = "PAR1";

int32_t PhysicalType(ColumnType type) {
  switch (type) {
    case ColumnType::kBoolean:
      return 0;
    case ColumnType::kInteger:
      return 2;
    case ColumnType::kReal:
      return 5;
    case ColumnType::kText:
      break;
  }
  return 6;
}

template <typename T>
void AppendBytes(T value, std::string& out) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

bool IsNone(const Value& cell) {
  return std::holds_alternative<std::monostate>(cell);
}

void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) {
    out += static_cast<char>(value | 0x80);
  }
  out += static_cast<char>(value);
}

/// Which cells hold a value, in runs (the RLE half of Parquet's RLE / bit-packing hybrid, of one bit).
std::string DefinitionLevels(const std::vector<Value>& cells) {
  std::string runs;
  for (size_t begin = 0; begin < cells.size();) {
    size_t end = begin;
    while (end < cells.size() && IsNone(cells[end]) == IsNone(cells[begin])) {
      ++end;
    }
    AppendVarint((end - begin) << 1, runs);
    runs += IsNone(cells[begin]) ? '\0' : '\1';
    begin = end;
  }
  std::string levels;
  AppendBytes(static_cast<uint32_t>(runs.size()), levels);
  return levels + runs;
}

double AsReal(const Value& cell) {
  const auto* whole = std::get_if<int64_t>(&cell);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(cell);
}

std::string PlainBooleans(const std::vector<Value>& cells) {
  std::string bytes;
  size_t bits = 0;
  for (const Value& cell : cells) {
    if (IsNone(cell)) {
      continue;
    }
    if (bits % 8 == 0) {
      bytes += '\0';
    }
    if (std::get<bool>(cell)) {
      bytes.back() = static_cast<char>(bytes.back() | 1 << bits % 8);
    }
    ++bits;
  }
  return bytes;
}

std::string PlainValues(const Column& column) {
  if (column.type == ColumnType::kBoolean) {
    return PlainBooleans(column.cells);
  }
  std::string bytes;
  for (const Value& cell : column.cells) {
    if (IsNone(cell)) {
      continue;
    }
    if (column.type == ColumnType::kInteger) {
      AppendBytes(std::get<int64_t>(cell), bytes);
    } else if (column.type == ColumnType::kReal) {
      AppendBytes(AsReal(cell), bytes);
    } else {
      const std::string& text = std::get<std::string>(cell);
      AppendBytes(static_cast<uint32_t>(text.size()), bytes);
      bytes += text;
    }
  }
  return bytes;
}

/// One data page with its header.
std::string PageOf(const Column& column) {
  const std::string body = DefinitionLevels(column.cells) + PlainValues(column);
  ThriftWriter header;
  header.I32(1, kDataPage);
  header.I32(2, static_cast<int32_t>(body.size()));
  header.I32(3, static_cast<int32_t>(body.size()));
  header.BeginStruct(5);
  header.I32(1, static_cast<int32_t>(column.cells.size()));
  header.I32(2, kPlain);
  header.I32(3, kRle);
  header.I32(4, kRle);
  header.EndStruct();
  return std::move(header).Finish() + body;
}

void WriteSchema(const std::string& name, const Table& table, ThriftWriter& footer) {
  footer.BeginStructList(2, table.size() + 1);
  footer.BeginItem();
  footer.Text(4, name);
  footer.I32(5, static_cast<int32_t>(table.size()));
  footer.EndStruct();
  for (const Column& column : table) {
    footer.BeginItem();
    footer.I32(1, PhysicalType(column.type));
    footer.I32(3, kOptional);
    footer.Text(4, column.name);
    if (column.type == ColumnType::kText) {
      footer.I32(6, kUtf8);
      footer.BeginStruct(10);  // LogicalType
      footer.BeginStruct(1);   // StringType
      footer.EndStruct();
      footer.EndStruct();
    }
    footer.EndStruct();
  }
}

void WriteChunk(const Column& column, int64_t rows, int64_t offset, int64_t bytes, ThriftWriter& footer) {
  footer.BeginItem();
  footer.I64(2, offset);
  footer.BeginStruct(3);
  footer.I32(1, PhysicalType(column.type));
  footer.I32List(2, {kPlain, kRle});
  footer.TextList(3, {column.name});
  footer.I32(4, kUncompressed);
  footer.I64(5, rows);
  footer.I64(6, bytes);
  footer.I64(7, bytes);
  footer.I64(9, offset);
  footer.EndStruct();
  footer.EndStruct();
}

}  // namespace

std::string ParquetWriter::Begin() {
  written_bytes_ = std::size(kMagic) - 1;
  return kMagic;
}

std::string ParquetWriter::AddRows(const Table& rows) {
  std::string bytes;
  Group& group = groups_.emplace_back();
  group.rows = static_cast<int64_t>(rows.empty() ? 0 : rows.front().cells.size());
  for (const Column& column : rows) {
    const std::string page = PageOf(column);
    group.chunks.push_back({written_bytes_ + static_cast<int64_t>(bytes.size()), static_cast<int64_t>(page.size())});
    bytes += page;
  }
  written_bytes_ += static_cast<int64_t>(bytes.size());
  return bytes;
}

std::string ParquetWriter::End(const Table& columns) const {
  ThriftWriter footer;
  int64_t rows = 0;
  for (const Group& group : groups_) {
    rows += group.rows;
  }
  footer.I32(1, kVersion);
  WriteSchema(name_, columns, footer);
  footer.I64(3, rows);
  footer.BeginStructList(4, groups_.size());
  for (const Group& group : groups_) {
    footer.BeginItem();
    footer.BeginStructList(1, columns.size());
    int64_t bytes = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      WriteChunk(columns[i], group.rows, group.chunks[i].offset, group.chunks[i].bytes, footer);
      bytes += group.chunks[i].bytes;
    }
    footer.I64(2, bytes);
    footer.I64(3, group.rows);
    footer.EndStruct();
  }
  footer.Text(6, creator_);
  std::string end = std::move(footer).Finish();
  AppendBytes(static_cast<uint32_t>(end.size()), end);
  return end + kMagic;
}

std::string ToParquet(const Table& table) {
  ParquetWriter writer("configurations", std::string(kParquetCreator));
  std::string file = writer.Begin();
  file += writer.AddRows(table);
  return file + writer.End(table);
}

}  // namespace assay::report
