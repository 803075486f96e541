#include "shards/convert/infer_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include "shards/convert/csv.h"
#include "shards/format/json_row.h"
#include "shards/format/webdataset.h"

namespace assay::shards {
namespace {

/// What values of a column have been.
struct Seen {
  bool boolean = false;
  bool integer = false;
  bool large = false;  ///< beyond int64
  bool negative = false;
  bool number = false;
  bool text = false;
  bool nested = false;  ///< lists, objects, integers beyond 64 bits
  bool null = false;
  int64_t line = 0;       ///< where it was seen first
  std::string example{};  ///< what it was there, for messages
};

using SeenColumns = std::map<std::string, Seen, std::less<>>;

void Note(const Field& field, Seen& seen) {
  switch (field.kind) {
    case FieldKind::kNull:
      seen.null = true;
      return;
    case FieldKind::kBool:
      seen.boolean = true;
      return;
    case FieldKind::kInteger:
      seen.integer = true;
      seen.negative |= field.integer < 0;
      return;
    case FieldKind::kUnsigned:
      seen.large = true;
      return;
    case FieldKind::kNumber:
      seen.number = true;
      return;
    case FieldKind::kText:
      seen.text = true;
      return;
    default:
      seen.nested = true;
  }
}

/// Nothing where the values have no encoding in common.
std::optional<std::string_view> EncodingOf(const Seen& seen) {
  const bool numeric = seen.integer || seen.large || seen.number;
  const int kinds = int{seen.boolean} + int{numeric} + int{seen.text} + int{seen.nested};
  if (kinds > 1) {
    return std::nullopt;
  }
  if (seen.null || seen.nested) {
    return "json";
  }
  if (seen.boolean) {
    return "uint8";
  }
  if (seen.text) {
    return "str";
  }
  return seen.number ? "float64" : !seen.large ? "int" : seen.negative ? "str_int" : "uint64";
}

Status NoteRow(const SourceFile& source, int64_t line, const std::vector<std::string>& names, const Row& row,
               SeenColumns& columns) {
  for (size_t i = 0; i < names.size(); ++i) {
    auto [column, first] = columns.try_emplace(names[i]);
    Note(row[i], column->second);
    if (first) {
      column->second.line = line;
      column->second.example = row[i].Describe();
    }
    if (!EncodingOf(column->second)) {
      return Status::InvalidArgument(fmt::format(
          "{}:{}: column '{}' is {}, in line {} it is {}: name the columns with --columns (json holds any value)",
          source.uri(), line + 1, names[i], row[i].Describe(), column->second.line + 1, column->second.example));
    }
  }
  return Status::Ok();
}

Result<SeenColumns> SeeJsonLines(const SourceFile& source, std::string_view text) {
  SeenColumns columns;
  JsonRowReader reader;
  std::vector<std::string> names;
  Row row;
  int64_t line = 0;
  for (size_t at = 0, rows = 0; at < text.size() && rows < kInferredRows; ++line) {
    const size_t newline = std::min(text.find('\n', at), text.size());
    const std::string_view json = text.substr(at, newline - at);
    at = newline + 1;
    if (json.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    ++rows;
    if (const Status read = reader.ReadAll(json, names, row); !read.ok()) {
      return read.WithContext(fmt::format("{}:{}", source.uri(), line + 1));
    }
    ASSAY_RETURN_IF_ERROR(NoteRow(source, line, names, row, columns));
  }
  return columns;
}

/// "007" and "+1" are text: as numbers they would not come back.
bool IsPlainInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !HasLeadingZero(text);
}

bool IsPlainNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && !HasLeadingZero(text) &&
         text.find_first_of(".eE") != std::string_view::npos;
}

void NoteText(std::string_view text, Seen& seen) {
  if (IsPlainInteger(text)) {
    seen.integer = true;
  } else if (IsPlainNumber(text)) {
    seen.number = true;
  } else {
    seen.text = true;
  }
}

std::vector<Column> ColumnsOf(const SeenColumns& seen) {
  std::vector<Column> columns;
  for (const auto& [name, of_column] : seen) {
    columns.push_back({name, *Encoding::Parse(*EncodingOf(of_column))});
  }
  return columns;
}

std::vector<Column> SeeCsv(const SourceFile& source, const SourceHead& head, std::string_view text) {
  const char separator = SeparatorOf(source.format);
  std::vector<Seen> seen(head.names.size());
  std::vector<std::string_view> fields;
  std::string unquoted;
  for (size_t at = 0, rows = 0; at < text.size() && rows < kInferredRows; ++rows) {
    const std::string_view record = text.substr(at).substr(0, *CsvRecordEnd(text.substr(at), separator, true));
    at += record.size();
    const bool is_blank = record == "\n" || record == "\r\n";
    if (is_blank || !SplitCsvRecord(record, separator, fields, unquoted).ok() || fields.size() != seen.size()) {
      continue;  // what is wrong is said when it is converted
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      NoteText(fields[i], seen[i]);
    }
  }
  SeenColumns columns;
  for (size_t i = 0; i < seen.size(); ++i) {
    const bool is_number = !seen[i].text && (seen[i].integer || seen[i].number);
    columns[head.names[i]] = is_number ? seen[i] : Seen{.text = true};
  }
  return ColumnsOf(columns);
}

std::string_view EncodingOfMember(const std::string& name, const Field& field) {
  switch (field.kind) {
    case FieldKind::kText:
      return "str";
    case FieldKind::kInteger:
      return "int";
    case FieldKind::kJson:
      return "json";
    default:
      return name.ends_with("png") ? "png" : name.ends_with("jpg") || name.ends_with("jpeg") ? "jpeg" : "bytes";
  }
}

/// Those of the first samples: what a member holds follows from its name.
Result<std::vector<Column>> SeeTar(const SourceFile& source, std::string_view text) {
  const std::span<const std::byte> tar = std::as_bytes(std::span(text));
  const Result<Offsets> offsets = FindWebSamples(tar);
  ASSAY_RETURN_IF_ERROR(offsets.status().WithContext(source.uri()));
  std::map<std::string, Column> columns;
  WebSample sample;
  for (size_t i = 0; i + 1 < offsets->size() && i < kInferredRows; ++i) {
    const uint64_t begin = (*offsets)[i];
    ASSAY_RETURN_IF_ERROR(DecodeWebSample(tar.subspan(begin, (*offsets)[i + 1] - begin), sample)
                              .WithContext(fmt::format("{}:{}: sample '{}'", source.uri(), i + 1, sample.key)));
    for (size_t field = 0; field < sample.names.size(); ++field) {
      const std::string& name = sample.names[field];
      columns.try_emplace(name, Column{name, *Encoding::Parse(EncodingOfMember(name, sample.row[field]))});
    }
  }
  std::vector<Column> sorted;
  std::ranges::transform(columns, std::back_inserter(sorted), [](const auto& named) { return named.second; });
  return sorted;
}

std::string EncodingOfColumn(const BatchColumn& column, int64_t rows) {
  if (column.HasNull(rows) && column.kind != BatchColumn::Kind::kBytes) {
    return "json";
  }
  switch (column.kind) {
    case BatchColumn::Kind::kText:
      return "str";
    case BatchColumn::Kind::kBytes:
      return "bytes";
    case BatchColumn::Kind::kBool:
    case BatchColumn::Kind::kNumber:
      return column.dtype == DType::kInt64 ? "int" : std::string(NameOf(column.dtype));
    case BatchColumn::Kind::kDecimal:
      return "str_decimal";
    case BatchColumn::Kind::kArray:
      return fmt::format("ndarray:{}", NameOf(column.dtype));
    case BatchColumn::Kind::kJson:
      return "json";
  }
  return "json";
}

Result<std::vector<Column>> SeeColumns(const ColumnBatch& batch) {
  const int64_t rows = std::min<int64_t>(batch.rows, kInferredRows);
  std::vector<Column> columns;
  for (const BatchColumn& column : batch.columns) {
    ASSAY_ASSIGN_OR_RETURN(Encoding encoding, Encoding::Parse(EncodingOfColumn(column, rows)));
    columns.push_back({column.name, std::move(encoding)});
  }
  std::ranges::sort(columns, {}, &Column::name);
  return columns;
}

}  // namespace

std::vector<Column> ColumnsOfImages(std::span<const SourceFile> sources) {
  const std::string_view first = ImageEncodingOf(sources.front().info.key);
  const bool alike = std::ranges::all_of(
      sources, [first](const SourceFile& source) { return ImageEncodingOf(source.info.key) == first; });
  return *ParseColumns(fmt::format("image:{},label:int,name:str", alike ? first : "bytes"));
}

Result<std::vector<Column>> InferColumns(const SourceFile& source, const SourceHead& head, const RowBlock& block) {
  if (block.columns) {
    return SeeColumns(*block.columns);
  }
  if (source.format == RowFormat::kTar) {
    return SeeTar(source, block.text);
  }
  if (source.format != RowFormat::kJsonLines) {
    return SeeCsv(source, head, block.text);
  }
  ASSAY_ASSIGN_OR_RETURN(const SeenColumns seen, SeeJsonLines(source, block.text));
  return ColumnsOf(seen);
}

}  // namespace assay::shards
