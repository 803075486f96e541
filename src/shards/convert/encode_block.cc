#include "shards/convert/encode_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "shards/convert/csv.h"
#include "shards/format/json_row.h"
#include "shards/format/python_text.h"
#include "shards/format/row_json.h"
#include "shards/format/shard_layout.h"
#include "shards/format/webdataset.h"
#include "storage/integrity/checksum.h"

namespace assay::shards {
namespace {

/// Of tar files and Parquet, what there is stands with the rows.
bool HasHead(RowFormat format) {
  return format != RowFormat::kTar && format != RowFormat::kParquet;
}

/// What there is of an image.
constexpr char kImageColumn[] = "image";
constexpr char kLabelColumn[] = "label";
constexpr char kNameColumn[] = "name";

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

Status CheckNames(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty() || !IsUtf8(name) || !seen.insert(name).second) {
      return Status::InvalidArgument(name.empty() ? std::string("a column has no name in the first line")
                                                  : fmt::format("the first line names '{}' twice", name));
    }
  }
  return Status::Ok();
}

/// The number that the whole of `text` is.
template <typename T>
bool ParseWhole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Status FieldOfNumber(const Encoding& encoding, std::string_view text, Field& field) {
  int64_t integer = 0;
  uint64_t large = 0;
  double number = 0;
  const bool wants_text = encoding.kind == EncodingKind::kStrDecimal;
  if (wants_text) {
    field.SetText(FieldKind::kText, text);
  } else if (ParseWhole(text, integer)) {
    field.SetInteger(integer);
  } else if (ParseWhole(text, large)) {
    field.SetUnsigned(large);
  } else if (ParseWhole(text, number)) {
    field.SetNumber(number);
    field.text = text;
  } else {
    return Status::InvalidArgument(fmt::format("'{}' is no number", text));
  }
  return Status::Ok();
}

/// Columns that were taken from the first rows hold numbers only as far as those behind are some too.
Status CheckIsNumber(const Encoding& encoding, std::string_view text) {
  return encoding.kind == EncodingKind::kScalar && HasLeadingZero(text)
             ? Status::InvalidArgument(
                   fmt::format("'{}' would lose its zeros, and the first rows have numbers: name the columns with "
                               "--columns (str keeps it)",
                               text))
             : Status::Ok();
}

/// What the text of a field of CSV is for a column. `json` keeps what had to be made of it.
Status FieldOfText(const Encoding& encoding, std::string_view text, Field& field, std::string& json) {
  switch (encoding.kind) {
    case EncodingKind::kScalar:
    case EncodingKind::kStrInt:
    case EncodingKind::kStrFloat:
    case EncodingKind::kStrDecimal:
      return FieldOfNumber(encoding, text, field);
    case EncodingKind::kJson:
    case EncodingKind::kNdarray:
    case EncodingKind::kJpegArray:
    case EncodingKind::kList:
      json.clear();
      ASSAY_RETURN_IF_ERROR(AppendPythonJson(json, text));
      field.SetText(FieldKind::kJson, text);
      return Status::Ok();
    case EncodingKind::kStr:
    case EncodingKind::kBytes:
    case EncodingKind::kPil:
      break;
  }
  field.SetText(FieldKind::kText, text);
  return IsUtf8(text) ? Status::Ok() : Status::InvalidArgument("it is no UTF-8");
}

/// Bytes that nobody has said what they are: content, or the text of what the column holds.
Status TakeContent(const Encoding& encoding, Field& field, std::string& json) {
  if (encoding.kind == EncodingKind::kBytes || encoding.kind == EncodingKind::kPil) {
    return Status::Ok();
  }
  const std::string_view text = encoding.kind == EncodingKind::kScalar ? Trim(field.text) : field.text;
  return FieldOfText(encoding, text, field, json);
}

/// Row `row` of a column of Parquet, for a column of the schema.
Status ReadColumn(const BatchColumn& from, int64_t row, const Column& column, Field& field, std::string& json) {
  from.Read(row, field);
  Status taken;
  if (field.kind == FieldKind::kBytes) {
    taken = TakeContent(column.encoding, field, json);
  } else if (field.kind == FieldKind::kText && !IsUtf8(field.text)) {
    taken = Status::InvalidArgument("it is no UTF-8");
  }
  return taken.WithContext(fmt::format("column '{}'", column.name));
}

/// Where each column stands among the names; -1: it is none of them.
std::vector<int64_t> PlacesOf(const std::vector<Column>& columns, const std::vector<std::string>& names) {
  std::vector<int64_t> places;
  for (const Column& column : columns) {
    const auto found = std::ranges::find(names, column.name);
    places.push_back(found == names.end() ? -1 : found - names.begin());
  }
  return places;
}

}  // namespace

Result<SourceHead> ReadSourceHead(const SourceFile& source, storage::Transfers& transfers) {
  if (source.format == RowFormat::kImages) {
    return SourceHead{.names = {kImageColumn, kLabelColumn, kNameColumn}};
  }
  if (source.format == RowFormat::kSynthetic) {
    SourceHead head;
    std::ranges::transform(source.synthetic->Columns(), std::back_inserter(head.names), &Column::name);
    return head;
  }
  if (!HasHead(source.format)) {
    return SourceHead{};
  }
  ASSAY_ASSIGN_OR_RETURN(BlockReader reader, BlockReader::Open(source, transfers, 0));
  ASSAY_ASSIGN_OR_RETURN(const std::optional<RowBlock> block, reader.Next());
  SourceHead head;
  if (!block) {
    return head;
  }
  std::string_view text = block->text;
  if (text.starts_with(kByteOrderMark)) {
    head.bytes = kByteOrderMark.size();
    text.remove_prefix(kByteOrderMark.size());
  }
  if (source.format == RowFormat::kJsonLines) {
    return head;
  }
  const char separator = SeparatorOf(source.format);
  const size_t end = CsvRecordEnd(text, separator, true).value_or(0);
  std::vector<std::string_view> names;
  std::string unquoted;
  Status read = SplitCsvRecord(text.substr(0, end), separator, names, unquoted);
  head.names.assign(names.begin(), names.end());
  head.lines = std::ranges::count(text.substr(0, end), '\n');
  head.bytes += static_cast<int64_t>(end);
  read = read.ok() ? CheckNames(head.names) : read;
  return read.ok() ? Result<SourceHead>(std::move(head)) : read.WithContext(source.uri() + ":1");
}

Status BlockEncoder::CheckColumns(const std::vector<std::string>& names, bool must) const {
  const std::vector<int64_t> places = PlacesOf(brought(), names);
  const auto missing = std::ranges::find(places, -1);
  if (missing != places.end()) {
    return Status::InvalidArgument(fmt::format("it has no column '{}', but {}",
                                               brought()[static_cast<size_t>(missing - places.begin())].name,
                                               Join(names, ", ")));
  }
  if (must && names.size() > places.size()) {
    const auto extra = std::ranges::find_if(names, [&](const std::string& name) {
      return std::ranges::find(brought(), name, &Column::name) == brought().end();
    });
    return Status::InvalidArgument(
        fmt::format("the rows before have no column '{}': name the columns with --columns", *extra));
  }
  return Status::Ok();
}

Status BlockEncoder::CheckHead(const SourceFile& source, const SourceHead& head) const {
  if (source.format == RowFormat::kJsonLines || !HasHead(source.format) || source.info.size == 0) {
    return Status::Ok();
  }
  return CheckColumns(head.names, strict_ && source.format != RowFormat::kImages).WithContext(source.uri() + ":1");
}

bool BlockEncoder::Take(const RowBlock& block, const Row& row, Extent extent, EncodedBlock& out,
                        uint32_t tokens) const {
  const size_t before = out.samples.size();
  // Where a row begins is its name: it stays the same whatever the threads, and whatever was cut off.
  const int64_t begin = block.offset + static_cast<int64_t>(extent.begin);
  const bool is_named = schema_->format == ShardFormat::kWebDataset;
  out.error = EncodeSample(*schema_, row, out.samples,
                           is_named ? fmt::format("{:03}-{:05}-{:012}", begin_.version, block.source, begin) : "");
  if (!out.error.ok()) {
    out.samples.resize(before);
    return false;
  }
  const std::string_view sample = std::string_view(out.samples).substr(before);
  out.records.push_back({.bytes = static_cast<uint32_t>(sample.size()),
                         .crc32c = storage::Crc32c(0, std::as_bytes(std::span(sample))),
                         .tokens = tokens});
  out.ends.push_back(static_cast<uint32_t>(extent.end));
  out.lines.push_back(static_cast<uint32_t>(out.line_count));
  return true;
}

void BlockEncoder::EncodeJsonLines(const RowBlock& block, EncodedBlock& out) const {
  thread_local JsonRowReader reader;
  thread_local Row row;
  const std::vector<Column>& columns = brought();
  RowTokens made;
  for (size_t at = 0; at < block.text.size();) {
    const size_t newline = std::min(block.text.find('\n', at), block.text.size());
    const size_t begin = at;
    const std::string_view line = block.text.substr(at, newline - at);
    at = std::min(newline + 1, block.text.size());
    out.error_line = out.line_count++;
    if (IsBlank(line)) {
      continue;
    }
    uint32_t tokens = 0;
    out.error = reader.ReadInPlace(line, columns, row);
    if (out.error.ok() && strict_ && !reader.unknown().empty()) {
      out.error = Status::InvalidArgument(
          fmt::format("the rows before have no '{}': name the columns with --columns", reader.unknown()));
    }
    if (out.error.ok() && tokens_) {
      const Result<uint32_t> count = tokens_->Fill(line, row, made);
      out.error = count.status();
      tokens = count.ok() ? *count : 0;
    }
    if (!out.error.ok() || !Take(block, row, {begin, at}, out, tokens)) {
      return;
    }
  }
}

void BlockEncoder::EncodeCsv(const SourceFile& source, const SourceHead& head, const RowBlock& block,
                             EncodedBlock& out) const {
  const char separator = SeparatorOf(source.format);
  const std::vector<int64_t> places = PlacesOf(schema_->columns, head.names);
  std::vector<std::string_view> fields;
  std::string unquoted;
  std::string json;
  Row row(schema_->columns.size());
  for (size_t at = 0; at < block.text.size();) {
    const std::string_view rest = block.text.substr(at);
    const std::string_view record = rest.substr(0, *CsvRecordEnd(rest, separator, true));
    const size_t begin = at;
    at += record.size();
    out.error_line = out.line_count;
    out.line_count += std::max<int64_t>(1, std::ranges::count(record, '\n'));
    if (record == "\n" || record == "\r\n") {
      continue;
    }
    out.error = SplitCsvRecord(record, separator, fields, unquoted);
    if (out.error.ok() && fields.size() != head.names.size()) {
      out.error =
          Status::InvalidArgument(fmt::format("it has {} fields, the first line {}", fields.size(), head.names.size()));
    }
    for (size_t i = 0; i < places.size() && out.error.ok(); ++i) {
      const Column& column = schema_->columns[i];
      const std::string_view text = fields[static_cast<size_t>(places[i])];
      const Status fits = strict_ ? CheckIsNumber(column.encoding, text) : Status::Ok();
      out.error = (fits.ok() ? FieldOfText(column.encoding, text, row[i], json) : fits)
                      .WithContext(fmt::format("column '{}'", column.name));
    }
    if (!out.error.ok() || !Take(block, row, {begin, at}, out)) {
      return;
    }
  }
}

void BlockEncoder::EncodeImage(const SourceFile& source, const RowBlock& block, EncodedBlock& out) const {
  Row row(schema_->columns.size());
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string& name = schema_->columns[i].name;
    if (name == kImageColumn) {
      row[i].SetText(FieldKind::kBytes, block.text);
    } else if (name == kLabelColumn) {
      row[i].SetInteger(source.label);
    } else {
      row[i].SetText(FieldKind::kText, source.name);
    }
  }
  out.line_count = 1;
  Take(block, row, {0, block.text.size()}, out);
}

Status BlockEncoder::PlaceFields(std::span<const std::string> names, const Row& fields, Row& row) const {
  std::string json;
  for (size_t i = 0; i < schema_->columns.size(); ++i) {
    const std::string& name = schema_->columns[i].name;
    const auto found = std::ranges::find(names, Lower(name));
    if (found == names.end()) {
      return Status::InvalidArgument(fmt::format("it has no '{}'", name));
    }
    row[i] = fields[static_cast<size_t>(found - names.begin())];
    const Encoding& encoding = schema_->columns[i].encoding;
    if (row[i].kind == FieldKind::kBytes) {
      ASSAY_RETURN_IF_ERROR(TakeContent(encoding, row[i], json).WithContext(fmt::format("'{}'", name)));
    }
  }
  const auto unknown = std::ranges::find_if(names, [&](const std::string& name) {
    return std::ranges::find(schema_->columns, name, &Column::name) == schema_->columns.end();
  });
  return !strict_ || unknown == names.end()
             ? Status::Ok()
             : Status::InvalidArgument(
                   fmt::format("the rows before have no '{}': name the columns with --columns", *unknown));
}

void BlockEncoder::EncodeTar(const RowBlock& block, EncodedBlock& out) const {
  const std::span<const std::byte> tar = std::as_bytes(std::span(block.text));
  const Result<Offsets> offsets = FindWebSamples(tar, static_cast<uint64_t>(block.offset));
  out.error = offsets.status();
  WebSample sample;
  Row row(schema_->columns.size());
  for (size_t i = 0; out.error.ok() && i + 1 < offsets->size(); ++i) {
    out.error_line = out.line_count++;
    const uint64_t begin = (*offsets)[i];
    const uint64_t end = (*offsets)[i + 1];
    out.error = DecodeWebSample(tar.subspan(begin, end - begin), sample);
    out.error = out.error.ok() ? PlaceFields(sample.names, sample.row, row) : out.error;
    out.error = out.error.WithContext(fmt::format("sample '{}'", sample.key));
    if (out.error.ok()) {
      Take(block, row, {begin, end}, out);
    }
  }
}

void BlockEncoder::EncodeDrawn(const SyntheticRows& rows, const RowBlock& block, EncodedBlock& out) const {
  Row row(schema_->columns.size());
  std::string memory;
  for (int64_t i = 0; i < block.rows && out.error.ok(); ++i) {
    out.error_line = out.line_count++;
    out.error = rows.Draw(begin_.samples + block.offset + i, row, memory);
    if (out.error.ok()) {
      Take(block, row, {static_cast<size_t>(i), static_cast<size_t>(i + 1)}, out);
    }
  }
}

Result<uint32_t> BlockEncoder::FillTokens(const ColumnBatch& batch, int64_t number, Row& row, RowTokens& made) const {
  std::vector<Column> columns;
  Row shown;
  std::string scratch;
  for (const Column& column : tokens_->looked_at()) {
    const auto from = std::ranges::find(batch.columns, column.name, &BatchColumn::name);
    if (from != batch.columns.end()) {
      columns.push_back(column);
      ASSAY_RETURN_IF_ERROR(ReadColumn(*from, number, column, shown.emplace_back(), scratch));
    }
  }
  std::string json;
  AppendRowJson(columns, shown, json);
  return tokens_->Fill(json, row, made);
}

void BlockEncoder::EncodeColumns(const RowBlock& block, EncodedBlock& out) const {
  const ColumnBatch& batch = *block.columns;
  out.error = CheckColumns(batch.names, strict_);
  std::vector<const BatchColumn*> read;
  for (size_t i = 0; i < brought().size() && out.error.ok(); ++i) {
    read.push_back(&*std::ranges::find(batch.columns, brought()[i].name, &BatchColumn::name));
  }
  Row row;
  std::string json;
  RowTokens made;
  for (int64_t number = 0; number < batch.rows && out.error.ok(); ++number) {
    out.error_line = out.line_count++;
    row.resize(read.size());
    for (size_t i = 0; i < read.size() && out.error.ok(); ++i) {
      out.error = ReadColumn(*read[i], number, brought()[i], row[i], json);
    }
    uint32_t tokens = 0;
    if (out.error.ok() && tokens_) {
      const Result<uint32_t> count = FillTokens(batch, number, row, made);
      out.error = count.status();
      tokens = count.ok() ? *count : 0;
    }
    if (out.error.ok()) {
      Take(block, row, {static_cast<size_t>(number), static_cast<size_t>(number + 1)}, out, tokens);
    }
  }
}

EncodedBlock BlockEncoder::Encode(const SourceFile& source, const SourceHead& head, const RowBlock& block,
                                  std::string memory) const {
  EncodedBlock out{.samples = std::move(memory)};
  if (source.format == RowFormat::kJsonLines) {
    EncodeJsonLines(block, out);
  } else if (source.format == RowFormat::kTar) {
    EncodeTar(block, out);
  } else if (source.format == RowFormat::kSynthetic) {
    EncodeDrawn(*source.synthetic, block, out);
  } else if (source.format == RowFormat::kParquet) {
    EncodeColumns(block, out);
  } else if (source.format == RowFormat::kImages) {
    EncodeImage(source, block, out);
  } else {
    EncodeCsv(source, head, block, out);
  }
  return out;
}

}  // namespace assay::shards
