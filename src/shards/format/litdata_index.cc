// index.json of litdata, as one of shards.
#include <fmt/format.h>

#include <algorithm>

#include "shards/format/index_json.h"
#include "shards/format/litdata_leaf.h"

namespace assay::shards {
namespace {

using Element = simdjson::dom::element;

/// Names of a tree's leaves in the order of its walk: keys of dictionaries and numbers in lists, joined by dots.
Status NameLeaves(const IndexField& node, const std::string& path, std::vector<std::string>& names) {
  constexpr size_t kMostLeaves = 10'000;
  if (!node.Has("type")) {
    names.push_back(path.empty() ? "value" : path);
    return names.size() <= kMostLeaves ? Status::Ok() : node.Error("a sample has more than 10,000 leaves");
  }
  ASSAY_ASSIGN_OR_RETURN(const simdjson::dom::array children, node.List("children_spec"));
  simdjson::dom::parser parser;
  simdjson::dom::array keys;
  std::string context;
  ASSAY_ASSIGN_OR_RETURN(const std::string type, node.Text("type"));
  const bool is_dict = type.ends_with("dict") || type.ends_with("Dict");
  if (is_dict) {
    ASSAY_ASSIGN_OR_RETURN(context, node.Text("context"));
    if (parser.parse(context).get_array().get(keys) != simdjson::SUCCESS || keys.size() != children.size()) {
      return node.Error("a dictionary has other keys than values");
    }
  }
  size_t i = 0;
  for (const Element child : children) {
    std::string_view key;
    const bool named = is_dict && keys.at(i).get_string().get(key) == simdjson::SUCCESS;
    const std::string name = named ? std::string(key) : fmt::to_string(i);
    ++i;
    ASSAY_RETURN_IF_ERROR(NameLeaves(IndexField(node.where(), child), path.empty() ? name : path + "." + name, names));
  }
  return Status::Ok();
}

/// treespec_dumps() of torch: [version, tree].
Result<std::vector<std::string>> ReadTree(const IndexField& config) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, config.Text("data_spec"));
  simdjson::dom::parser parser;
  Element tree;
  if (parser.parse(text).at(1).get(tree) != simdjson::SUCCESS) {
    return config.Error("'data_spec' is no tree");
  }
  std::vector<std::string> names;
  ASSAY_RETURN_IF_ERROR(NameLeaves(IndexField(config.where() + ": data_spec", tree), "", names));
  return names;
}

Status CheckIsRead(const IndexField& config) {
  ASSAY_ASSIGN_OR_RETURN(const std::string loader, config.TextOrNull("item_loader"));
  if (!loader.empty() && loader != "PyTreeLoader") {
    return Status::Unsupported(
        fmt::format("{}: chunks of {} are not read, only those of PyTreeLoader", config.where(), loader));
  }
  if (config.Has("encryption")) {
    return Status::Unsupported(fmt::format("{}: encrypted chunks are not read", config.where()));
  }
  return Status::Ok();
}

Result<ShardSchema> ReadConfig(const IndexField& config) {
  ASSAY_RETURN_IF_ERROR(CheckIsRead(config));
  ShardSchema schema{.format = ShardFormat::kLitdata, .format_name = "litdata"};
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> formats, config.Texts("data_format"));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadTree(config));
  if (formats.size() != names.size()) {
    return config.Error(fmt::format("{} leaves have {} formats", names.size(), formats.size()));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    auto leaf = LitdataLeaf(formats[i]);
    if (!leaf.ok()) {
      return leaf.status().WithContext(fmt::format("{}: '{}'", config.where(), names[i]));
    }
    schema.columns.push_back({names[i], *std::move(leaf)});
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string compression, config.TextOrNull("compression"));
  auto parsed = Compression::Parse(compression);
  if (!parsed.ok()) {
    return parsed.status().WithContext(config.where());
  }
  schema.compression = *std::move(parsed);
  ASSAY_ASSIGN_OR_RETURN(schema.packing, config.TextOrNull("compression_level"));
  if (!schema.compression.none() && schema.packing.empty()) {
    schema.packing = "chunk";
  }
  const std::string_view known[] = {"", "chunk", "batch", "sample"};
  return std::ranges::find(known, schema.packing) == std::end(known)
             ? Result<ShardSchema>(config.Error(fmt::format("'{}' is no compression_level", schema.packing)))
             : schema;
}

}  // namespace

Result<DatasetIndex> ReadLitdataIndex(const IndexField& index) {
  ASSAY_ASSIGN_OR_RETURN(const IndexField config, index.At("config"));
  ASSAY_ASSIGN_OR_RETURN(ShardSchema read, ReadConfig(config));
  const auto schema = std::make_shared<const ShardSchema>(std::move(read));
  ASSAY_ASSIGN_OR_RETURN(const simdjson::dom::array chunks, index.List("chunks"));
  DatasetIndex litdata;
  for (const Element element : chunks) {
    const IndexField chunk{fmt::format("{}: chunk {}", index.where(), litdata.shards.size()), element};
    ShardEntry& shard = litdata.shards.emplace_back();
    shard.schema = schema;
    ASSAY_ASSIGN_OR_RETURN(shard.samples, chunk.Samples("chunk_size"));
    ASSAY_ASSIGN_OR_RETURN(shard.raw_data.basename, chunk.Text("filename"));
    if (const Status safe = CheckBasename(shard.raw_data.basename); !safe.ok()) {
      return chunk.Error(safe.message());
    }
    ASSAY_ASSIGN_OR_RETURN(shard.raw_data.bytes, chunk.Count("chunk_bytes"));
    if (schema->packing == "chunk") {  // whose compressed size nobody tells
      shard.zip_data = FileEntry{.basename = shard.raw_data.basename, .bytes = -1};
    }
  }
  return litdata;
}

}  // namespace assay::shards
