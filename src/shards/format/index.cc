#include "shards/format/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "shards/format/index_json.h"
#include "shards/format/python_text.h"
#include "shards/format/webdataset.h"

namespace assay::shards {
namespace {

using nlohmann::json;

struct FormatRow {
  std::string_view name;
  ShardFormat format;
  std::string_view separator;  // of kXsv; empty: named by the index
};

constexpr FormatRow kFormats[] = {
    {"mds", ShardFormat::kMds, ""},   {"json", ShardFormat::kJson, ""}, {"csv", ShardFormat::kXsv, ","},
    {"tsv", ShardFormat::kXsv, "\t"}, {"xsv", ShardFormat::kXsv, ""},   {"webdataset", ShardFormat::kWebDataset, ""},
};

bool IsSplit(ShardFormat format) {
  return format == ShardFormat::kJson || format == ShardFormat::kXsv;
}

Result<std::vector<Column>> ReadColumnLists(const IndexField& shard) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, shard.Texts("column_names"));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> encodings, shard.Texts("column_encodings"));
  if (names.size() != encodings.size()) {
    return shard.Error(fmt::format("{} column names have {} encodings", names.size(), encodings.size()));
  }
  std::vector<Column> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    auto encoding = Encoding::Parse(encodings[i]);
    if (!encoding.ok()) {
      return encoding.status().WithContext(fmt::format("{}: column '{}'", shard.where(), names[i]));
    }
    columns.push_back({names[i], *std::move(encoding)});
  }
  return columns;
}

/// Encodings of split shards are str, int and float.
Result<Encoding> SplitEncoding(std::string_view name) {
  return Encoding::Parse(name == "float" ? "float64" : name);
}

Result<std::vector<Column>> ReadSplitColumns(const IndexField& shard, ShardFormat format) {
  std::vector<Column> columns;
  const auto add = [&](std::string_view name, std::string_view encoding) -> Status {
    auto parsed = SplitEncoding(encoding);
    if (!parsed.ok()) {
      return parsed.status().WithContext(fmt::format("{}: column '{}'", shard.where(), name));
    }
    parsed->name = encoding;
    columns.push_back({std::string(name), *std::move(parsed)});
    return Status::Ok();
  };
  if (format == ShardFormat::kJson) {
    ASSAY_ASSIGN_OR_RETURN(const simdjson::dom::object named, shard.Object("columns"));
    for (const auto& [name, encoding] : named) {
      ASSAY_RETURN_IF_ERROR(
          add(name, std::string_view(encoding.is_string() ? encoding.get_string().value_unsafe() : "")));
    }
    return columns;
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, shard.Texts("column_names"));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> encodings, shard.Texts("column_encodings"));
  if (names.size() != encodings.size()) {
    return shard.Error(fmt::format("{} column names have {} encodings", names.size(), encodings.size()));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    ASSAY_RETURN_IF_ERROR(add(names[i], encodings[i]));
  }
  return columns;
}

/// The sizes that the index says of columns must be those of their encodings: samples are cut by them.
Status CheckColumnSizes(const IndexField& shard, const std::vector<Column>& columns) {
  ASSAY_ASSIGN_OR_RETURN(const simdjson::dom::array sizes, shard.List("column_sizes"));
  if (sizes.size() != columns.size()) {
    return shard.Error(fmt::format("{} columns have {} sizes", columns.size(), sizes.size()));
  }
  size_t i = 0;
  for (const simdjson::dom::element size : sizes) {
    int64_t bytes = 0;  // null and 0: it varies
    const bool known = size.is_null() || size.get_int64().get(bytes) == simdjson::SUCCESS;
    const Column& column = columns[i++];
    if (!known || bytes != int64_t{column.encoding.fixed_bytes.value_or(0)}) {
      return shard.Error(fmt::format("column '{}' of {} has another size", column.name, column.encoding.name));
    }
  }
  return Status::Ok();
}

Status ReadSizeLimit(const IndexField& shard, ShardSchema& schema) {
  // A number, null, or text as its writer was told.
  int64_t limit = 0;
  if (shard.Has("size_limit") && shard.element()["size_limit"].get_int64().get(limit) == simdjson::SUCCESS) {
    schema.size_limit = limit;
  }
  return Status::Ok();
}

Result<ShardSchema> ReadSchema(const IndexField& shard) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t version, shard.Count("version"));
  if (version != 2) {
    return shard.Error(fmt::format("it is of version {}, and 2 is known", version));
  }
  ShardSchema schema;
  ASSAY_ASSIGN_OR_RETURN(schema.format_name, shard.Text("format"));
  const auto row = std::ranges::find(kFormats, schema.format_name, &FormatRow::name);
  if (row == std::end(kFormats)) {
    return shard.Error(
        fmt::format("its format '{}' is none of mds, json, csv, tsv, xsv and webdataset", schema.format_name));
  }
  schema.format = row->format;
  ASSAY_ASSIGN_OR_RETURN(const std::string compression, shard.TextOrNull("compression"));
  auto parsed = Compression::Parse(compression);
  if (!parsed.ok()) {
    return parsed.status().WithContext(shard.where());
  }
  schema.compression = *std::move(parsed);
  ASSAY_ASSIGN_OR_RETURN(schema.hashes, shard.Texts("hashes"));
  ASSAY_RETURN_IF_ERROR(ReadSizeLimit(shard, schema));
  if (schema.format == ShardFormat::kMds) {
    ASSAY_ASSIGN_OR_RETURN(schema.columns, ReadColumnLists(shard));
    ASSAY_RETURN_IF_ERROR(CheckColumnSizes(shard, schema.columns));
    return schema;
  }
  if (schema.format == ShardFormat::kWebDataset) {
    ASSAY_ASSIGN_OR_RETURN(schema.columns, ReadColumnLists(shard));
    const Status held = CheckWebColumns(schema.columns);
    return held.ok() ? Result<ShardSchema>(std::move(schema)) : shard.Error(held.message());
  }
  ASSAY_ASSIGN_OR_RETURN(schema.columns, ReadSplitColumns(shard, schema.format));
  ASSAY_ASSIGN_OR_RETURN(schema.newline, shard.Text("newline"));
  if (schema.format == ShardFormat::kXsv) {
    schema.separator = row->separator;
    if (schema.separator.empty()) {
      ASSAY_ASSIGN_OR_RETURN(schema.separator, shard.Text("separator"));
    }
    if (schema.separator.empty() || schema.newline.empty()) {
      return shard.Error("an empty newline or separator separates nothing");
    }
  }
  return schema;
}

Result<FileEntry> ReadFileEntry(const IndexField& shard, std::string_view name) {
  ASSAY_ASSIGN_OR_RETURN(const IndexField file, shard.At(name));
  FileEntry entry;
  ASSAY_ASSIGN_OR_RETURN(entry.basename, file.Text("basename"));
  if (const Status safe = CheckBasename(entry.basename); !safe.ok()) {
    return file.Error(safe.message());
  }
  ASSAY_ASSIGN_OR_RETURN(entry.bytes, file.Count("bytes"));
  ASSAY_ASSIGN_OR_RETURN(const simdjson::dom::object hashes, file.Object("hashes"));
  for (const auto& [algorithm, digest] : hashes) {
    std::string_view text;
    if (digest.get_string().get(text) != simdjson::SUCCESS) {
      return file.Error("a hash is no text");
    }
    entry.hashes.emplace(algorithm, text);
  }
  return entry;
}

Status ReadOptionalFile(const IndexField& shard, std::string_view name, std::optional<FileEntry>& entry) {
  if (shard.Has(name)) {
    ASSAY_ASSIGN_OR_RETURN(entry, ReadFileEntry(shard, name));
  }
  return Status::Ok();
}

Result<ShardEntry> ReadShard(const IndexField& shard) {
  ASSAY_ASSIGN_OR_RETURN(ShardSchema schema, ReadSchema(shard));
  ShardEntry entry;
  ASSAY_ASSIGN_OR_RETURN(entry.samples, shard.Samples("samples"));
  ASSAY_ASSIGN_OR_RETURN(entry.raw_data, ReadFileEntry(shard, "raw_data"));
  ASSAY_RETURN_IF_ERROR(ReadOptionalFile(shard, "zip_data", entry.zip_data));
  ASSAY_RETURN_IF_ERROR(ReadOptionalFile(shard, "raw_meta", entry.raw_meta));
  ASSAY_RETURN_IF_ERROR(ReadOptionalFile(shard, "zip_meta", entry.zip_meta));
  const bool split = IsSplit(schema.format);
  if (split != entry.raw_meta.has_value()) {
    return shard.Error(split ? "it has no file of offsets" : "it has a file of offsets");
  }
  if (entry.zip_data && schema.compression.none()) {
    return shard.Error("it is compressed by no named algorithm");
  }
  // Offsets of shards have 32 bits.
  if (entry.raw_data.bytes > UINT32_MAX) {
    return shard.Error("it has more than 4 GiB");
  }
  entry.schema = std::make_shared<const ShardSchema>(std::move(schema));
  return entry;
}

}  // namespace

int64_t DatasetIndex::samples() const {
  int64_t samples = 0;
  for (const ShardEntry& shard : shards) {
    samples += shard.samples;
  }
  return samples;
}

Status CheckBasename(std::string_view name) {
  const bool printable = std::ranges::all_of(name, [](unsigned char c) { return c >= 0x20 && c != 0x7f && c != '\\'; });
  const std::vector<std::string> parts = Split(name, '/');
  const bool leads_out =
      std::ranges::any_of(parts, [](const std::string& part) { return part.empty() || part == "." || part == ".."; });
  if (parts.empty() || leads_out || !printable) {
    return Status::InvalidArgument(fmt::format("'{}' is no name of a file within the data set", name));
  }
  return Status::Ok();
}

Result<DatasetIndex> ParseIndex(std::string_view text, std::string_view source) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(text.data(), text.size()).get(root)) {
    return Status::InvalidArgument(fmt::format("{} is no JSON: {}", source, simdjson::error_message(error)));
  }
  const IndexField index{std::string(source), root};
  if (index.Has("chunks")) {
    return ReadLitdataIndex(index);
  }
  ASSAY_ASSIGN_OR_RETURN(const int64_t version, index.Count("version"));
  if (version != 2) {
    return index.Error(fmt::format("it is of version {}, and 2 is known", version));
  }
  ASSAY_ASSIGN_OR_RETURN(const simdjson::dom::array shards, index.List("shards"));
  DatasetIndex read;
  std::string last_schema;
  for (const simdjson::dom::element element : shards) {
    const IndexField shard{fmt::format("{}: shard {}", source, read.shards.size()), element};
    ASSAY_ASSIGN_OR_RETURN(ShardEntry entry, ReadShard(shard));
    std::string schema = FormatSchema(*entry.schema);
    if (schema == last_schema) {
      entry.schema = read.shards.back().schema;
    }
    last_schema = std::move(schema);
    read.shards.push_back(std::move(entry));
  }
  return read;
}

namespace {

json SchemaJson(const ShardSchema& schema) {
  json out = {{"version", 2},
              {"format", schema.format_name},
              {"compression", schema.compression.none() ? json() : json(schema.compression.name)},
              {"hashes", schema.hashes},
              {"size_limit", schema.size_limit ? json(*schema.size_limit) : json()}};
  json names = json::array();
  json encodings = json::array();
  json sizes = json::array();
  json named = json::object();
  for (const Column& column : schema.columns) {
    names.push_back(column.name);
    encodings.push_back(column.encoding.name);
    sizes.push_back(column.encoding.fixed_bytes ? json(*column.encoding.fixed_bytes) : json());
    named[column.name] = column.encoding.name;
  }
  if (schema.format == ShardFormat::kJson) {
    out["columns"] = named;
  } else {
    out["column_names"] = names;
    out["column_encodings"] = encodings;
  }
  if (schema.format == ShardFormat::kMds) {
    out["column_sizes"] = sizes;
  } else if (IsSplit(schema.format)) {
    out["newline"] = schema.newline;
  }
  if (schema.format_name == "xsv") {
    out["separator"] = schema.separator;
  }
  return out;
}

json FileJson(const std::optional<FileEntry>& file) {
  return file ? json{{"basename", file->basename}, {"bytes", file->bytes}, {"hashes", file->hashes}} : json();
}

}  // namespace

std::string_view IndexNameOf(ShardFormat format) {
  return std::ranges::find(kFormats, format, &FormatRow::format)->name;
}

std::string FormatSchema(const ShardSchema& schema) {
  return PythonDumps(SchemaJson(schema));
}

std::string FormatIndex(const DatasetIndex& index) {
  std::string out = "{\"shards\": [";
  for (size_t i = 0; i < index.shards.size(); ++i) {
    const ShardEntry& shard = index.shards[i];
    json entry = SchemaJson(*shard.schema);
    entry["samples"] = shard.samples;
    entry["raw_data"] = FileJson(shard.raw_data);
    entry["zip_data"] = FileJson(shard.zip_data);
    if (shard.raw_meta) {
      entry["raw_meta"] = FileJson(shard.raw_meta);
      entry["zip_meta"] = FileJson(shard.zip_meta);
    }
    out += (i == 0 ? "" : ", ") + PythonDumps(entry);
  }
  return out + "], \"version\": 2}";
}

std::string ShardName(const ShardSchema& schema, int64_t number, bool meta, bool compressed) {
  const std::string_view ending =
      schema.format == ShardFormat::kWebDataset ? "tar" : std::string_view(schema.format_name);
  std::string name = fmt::format("shard.{:05}.{}", number, ending);
  name += meta ? ".meta" : "";
  return compressed && !schema.compression.none() ? name + "." + schema.compression.extension : name;
}

}  // namespace assay::shards
