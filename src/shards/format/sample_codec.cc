// Rows as samples of each format, and back.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/utf8.h"
#include "shards/format/json_row.h"
#include "shards/format/litdata.h"
#include "shards/format/python_text.h"
#include "shards/format/shard_layout.h"
#include "shards/format/webdataset.h"

namespace assay::shards {
namespace {

using Bytes = std::span<const std::byte>;

std::string_view CharsOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status InColumn(const Status& status, const Column& column) {
  return status.WithContext(fmt::format("column '{}'", column.name));
}

Status EncodeMds(const ShardSchema& schema, const Row& row, std::string& out) {
  const size_t begin = out.size();
  size_t slot = begin;
  for (const Column& column : schema.columns) {
    slot += column.encoding.fixed_bytes ? 0 : sizeof(uint32_t);
  }
  out.resize(slot);  // the sizes of those that vary, filled in as they are known
  slot = begin;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const Column& column = schema.columns[i];
    const size_t before = out.size();
    if (const Status encoded = EncodeField(column.encoding, row[i], out); !encoded.ok()) {
      return InColumn(encoded, column);
    }
    if (!column.encoding.fixed_bytes) {
      const auto size = static_cast<uint32_t>(out.size() - before);
      std::memcpy(out.data() + slot, &size, sizeof(size));
      slot += sizeof(size);
    }
  }
  return out.size() - begin <= UINT32_MAX ? Status::Ok() : Status::InvalidArgument("the sample has more than 4 GiB");
}

/// The text of a value in a split shard: of str, int or float.
Status AppendSplitValue(const Encoding& encoding, const Field& field, std::string& out) {
  const bool is_float = encoding.name == "float";
  const bool is_int = encoding.name == "int";
  const bool holds = is_float ? field.kind == FieldKind::kNumber
                     : is_int ? field.kind == FieldKind::kInteger || field.kind == FieldKind::kBigInteger
                              : field.kind == FieldKind::kText;
  if (!holds) {
    return Status::InvalidArgument(fmt::format("it is {}, which {} does not hold", field.Describe(), encoding.name));
  }
  if (is_float) {
    AppendPythonFloat(out, field.number);
  } else if (field.kind == FieldKind::kInteger) {
    out += fmt::to_string(field.integer);
  } else {
    out += field.text;
  }
  return Status::Ok();
}

Status EncodeXsv(const ShardSchema& schema, const Row& row, std::string& out) {
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const Column& column = schema.columns[i];
    out += i == 0 ? "" : schema.separator;
    const size_t begin = out.size();
    if (const Status encoded = AppendSplitValue(column.encoding, row[i], out); !encoded.ok()) {
      return InColumn(encoded, column);
    }
    const std::string_view value = std::string_view(out).substr(begin);
    if (value.find(schema.separator) != std::string_view::npos ||
        value.find(schema.newline) != std::string_view::npos) {
      return InColumn(
          Status::InvalidArgument(fmt::format(
              "it holds a separator or a newline, which {} cannot hold: take mds or json", schema.format_name)),
          column);
    }
  }
  out += schema.newline;
  return Status::Ok();
}

Status EncodeJson(const ShardSchema& schema, const Row& row, std::string& out) {
  out += '{';
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const Column& column = schema.columns[i];
    out += i == 0 ? "" : ", ";
    AppendPythonString(out, column.name);
    out += ": ";
    const bool is_text = column.encoding.name == "str";
    std::string value;
    if (const Status encoded = AppendSplitValue(column.encoding, row[i], value); !encoded.ok()) {
      return InColumn(encoded, column);
    }
    is_text ? AppendPythonString(out, value) : void(out += value);
  }
  out += '}';
  out += schema.newline;
  return Status::Ok();
}

Status DecodeMds(const ShardSchema& schema, Bytes sample, Row& row) {
  std::vector<Bytes> columns;
  ASSAY_RETURN_IF_ERROR(SplitMdsSample(schema, sample, columns));
  for (size_t i = 0; i < columns.size(); ++i) {
    if (const Status decoded = DecodeField(schema.columns[i].encoding, columns[i], row[i]); !decoded.ok()) {
      return InColumn(decoded, schema.columns[i]);
    }
  }
  return Status::Ok();
}

Status ReadSplitValue(const Encoding& encoding, std::string_view text, Field& field) {
  const char* end = text.data() + text.size();
  field.SetText(FieldKind::kText, text);
  if (encoding.name == "int") {
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) {
      return Status::InvalidArgument(fmt::format("'{}' is no integer", text));
    }
    field.SetInteger(value);
  } else if (encoding.name == "float") {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) {
      return Status::InvalidArgument(fmt::format("'{}' is no number", text));
    }
    field.SetNumber(value);
  }
  return Status::Ok();
}

Status DecodeXsv(const ShardSchema& schema, std::string_view text, Row& row) {
  if (!IsUtf8(text) || !text.ends_with(schema.newline)) {
    return Status::InvalidArgument("the line is no UTF-8, or has no end");
  }
  text.remove_suffix(schema.newline.size());
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const size_t end = text.find(schema.separator);
    if ((end == std::string_view::npos) != (i + 1 == schema.columns.size())) {
      return Status::InvalidArgument(
          fmt::format("the line has another number of values than {}", schema.columns.size()));
    }
    const Column& column = schema.columns[i];
    if (const Status read = ReadSplitValue(column.encoding, text.substr(0, end), row[i]); !read.ok()) {
      return InColumn(read, column);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + schema.separator.size());
  }
  return Status::Ok();
}

}  // namespace

Status SplitMdsSample(const ShardSchema& schema, Bytes sample, std::vector<Bytes>& columns) {
  columns.clear();
  size_t varying = 0;
  for (const Column& column : schema.columns) {
    varying += column.encoding.fixed_bytes ? 0 : 1;
  }
  size_t at = varying * sizeof(uint32_t);
  size_t next_size = 0;
  for (const Column& column : schema.columns) {
    uint32_t size = column.encoding.fixed_bytes.value_or(0);
    if (!column.encoding.fixed_bytes && at <= sample.size()) {
      std::memcpy(&size, sample.data() + next_size, sizeof(size));
      next_size += sizeof(size);
    }
    if (at > sample.size() || size > sample.size() - at) {
      return Status::InvalidArgument(fmt::format("column '{}' ends behind the sample", column.name));
    }
    columns.push_back(sample.subspan(at, size));
    at += size;
  }
  return at == sample.size() ? Status::Ok() : Status::InvalidArgument("the sample goes on behind its last column");
}

Status EncodeSample(const ShardSchema& schema, const Row& row, std::string& out, std::string_view key) {
  switch (schema.format) {
    case ShardFormat::kMds:
      return EncodeMds(schema, row, out);
    case ShardFormat::kJson:
      return EncodeJson(schema, row, out);
    case ShardFormat::kXsv:
      return EncodeXsv(schema, row, out);
    case ShardFormat::kWebDataset:
      return EncodeWebSample(schema.columns, key, row, out);
    case ShardFormat::kLitdata:
      break;
  }
  return Status::Unsupported(fmt::format("samples of {} are not written", schema.format_name));
}

Status DecodeSample(const ShardSchema& schema, Bytes sample, Row& row, std::string& scratch) {
  row.resize(schema.columns.size());
  switch (schema.format) {
    case ShardFormat::kMds:
      return DecodeMds(schema, sample, row);
    case ShardFormat::kJson: {
      thread_local JsonRowReader reader;
      scratch.assign(CharsOf(sample));
      return reader.Read(scratch, schema.columns, row);
    }
    case ShardFormat::kXsv:
      return DecodeXsv(schema, CharsOf(sample), row);
    case ShardFormat::kLitdata:
      return DecodeLitdata(schema, sample, row, scratch);
    case ShardFormat::kWebDataset:
      return DecodeWebColumns(schema.columns, sample, row);
  }
  return Status::Internal("there is no such format of shards");
}

}  // namespace assay::shards
