#include "checkpoint/shard_index.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "checkpoint/safetensors/safetensors_reader.h"
#include "checkpoint/torch/torch_reader.h"
#include "checkpoint/value/value_json.h"

namespace assay::checkpoint {
namespace {

constexpr int64_t kMostIndexBytes = int64_t{1} << 30;

Status NoIndex(const DataSource& source, const std::string& what) {
  return Status::InvalidArgument(fmt::format("{}: the index of shards {}", source.uri(), what));
}

/// The tensors of one shard by name, and what its metadata says.
struct Shard {
  std::map<std::string, Value> tensors{};
  std::map<std::string, std::string> metadata{};
};

Result<Shard> ReadShard(std::shared_ptr<const DataSource> source, Format format) {
  Shard shard;
  if (format == Format::kSafetensors) {
    ASSAY_ASSIGN_OR_RETURN(SafetensorsFile file, ReadSafetensorsFile(std::move(source)));
    return Shard{std::move(file.tensors), std::move(file.header.metadata)};
  }
  const std::string uri = source->uri();
  ASSAY_ASSIGN_OR_RETURN(const Value value, ReadTorchFile(std::move(source)));
  const Value::Dict* dict = value.dict();
  for (const auto& [key, item] : dict == nullptr ? Value::Dict().items : dict->items) {
    const auto* name = key.get<std::string>();
    if (name == nullptr || item.tensor() == nullptr) {
      return Status::InvalidArgument(uri + ": it is a shard of an index, but no flat dict of tensors");
    }
    shard.tensors[*name] = item;
  }
  return shard;
}

}  // namespace

Result<ShardIndex> ReadShardIndex(const DataSource& source) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadBounded(source, kMostIndexBytes));
  const Result<nlohmann::json> parsed = ParseJson(text, source.uri());
  if (!parsed.ok()) {
    return Escaped(parsed.status());
  }
  const nlohmann::json& document = *parsed;
  const auto map = document.is_object() ? document.find("weight_map") : document.end();
  if (map == document.end() || !map->is_object()) {
    return NoIndex(source, "has no weight_map");
  }
  ShardIndex index;
  for (const auto& [name, file] : map->items()) {
    const std::string shard = file.is_string() ? file.get<std::string>() : "";
    const std::string padded = "/" + shard + "/";
    if (shard.empty() || padded.find("//") != std::string::npos || padded.find("/../") != std::string::npos ||
        shard.find('\0') != std::string::npos) {
      return NoIndex(source, fmt::format("places '{}' in '{}', which is no file beside it", name, shard));
    }
    index.file_of[name] = shard;
    index.files.insert(shard);
  }
  const auto metadata = document.find("metadata");
  if (metadata != document.end() && metadata->is_object()) {
    const auto id = metadata->find(kSaveIdKey);
    index.save_id = id != metadata->end() && id->is_string() ? id->get<std::string>() : "";
  }
  return index;
}

Result<Value> ReadShards(FileSet& files, const std::string& index_name, Format format) {
  ASSAY_ASSIGN_OR_RETURN(const auto source, files.Open(index_name));
  ASSAY_ASSIGN_OR_RETURN(const ShardIndex index, ReadShardIndex(*source));
  std::map<std::string, Shard> shards;
  std::map<std::string, Value> tensors;
  std::string structure;
  for (const std::string& name : index.files) {
    const Result<std::shared_ptr<const DataSource>> file = files.Open(name);
    if (!file.ok()) {
      return file.status().WithContext(fmt::format("{} names a shard", source->uri()));
    }
    ASSAY_ASSIGN_OR_RETURN(shards[name], ReadShard(*file, format));
    if (const auto kept = shards[name].metadata.find(kStructureKey); kept != shards[name].metadata.end()) {
      structure = kept->second;
    }
  }
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [name, file] : index.file_of) {
    const auto found = shards[file].tensors.find(name);
    if (found == shards[file].tensors.end()) {
      return NoIndex(*source, fmt::format("places tensor '{}' in {}, which does not have it", name, file));
    }
    tensors[name] = found->second;
    items.emplace_back(Value::Text(name), found->second);
  }
  if (structure.empty()) {
    return Value::MakeDict(std::move(items));
  }
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(structure, source->uri()));
  return ValueFromJson(json, tensors, source->uri());
}

}  // namespace assay::checkpoint
