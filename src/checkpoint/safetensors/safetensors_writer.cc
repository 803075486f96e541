#include "checkpoint/safetensors/safetensors_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "checkpoint/safetensors/safetensors_header.h"
#include "checkpoint/safetensors/safetensors_reader.h"
#include "checkpoint/value/value_json.h"

namespace assay::checkpoint {
namespace {

struct NamedTensor {
  std::string name;
  std::shared_ptr<const Tensor> tensor;
};

Status CheckCanHold(const std::string& name, const Tensor& tensor) {
  if (tensor.quantizer != nullptr || tensor.bits != nullptr) {
    return Status::Unsupported(
        fmt::format("cannot write tensor '{}': safetensors has no place for its {} (--format pt has)", name,
                    tensor.quantizer != nullptr ? "quantiser" : "conjugate or negative bit"));
  }
  return Status::Ok();
}

Result<std::vector<NamedTensor>> TensorsInOrder(const State& state) {
  std::vector<NamedTensor> tensors;
  for (const Leaf& leaf : state.leaves) {
    if (auto tensor = leaf.value.tensor()) {
      ASSAY_RETURN_IF_ERROR(CheckCanHold(leaf.name, *tensor));
      tensors.push_back({leaf.name, std::move(tensor)});
    }
  }
  std::ranges::sort(tensors, {}, [](const NamedTensor& named) {
    return std::pair(-ElementBytes(named.tensor->dtype), std::string_view(named.name));
  });
  return tensors;
}

/// A flat dict of tensors needs no more than their names.
bool IsFlatDictOfTensors(const State& state) {
  const Value::Dict* dict = state.root.dict();
  return dict != nullptr && !dict->ordered && dict->items.size() == state.leaves.size() &&
         std::ranges::all_of(dict->items, [](const auto& item) {
           return item.first.template get<std::string>() != nullptr && item.second.tensor() != nullptr;
         });
}

Result<std::map<std::string, std::string>> MetadataOf(const State& state, const SafetensorsOptions& options) {
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  if (!options.save_id.empty()) {
    metadata[kSaveIdKey] = options.save_id;
  }
  if (!IsFlatDictOfTensors(state)) {
    ASSAY_ASSIGN_OR_RETURN(const nlohmann::json structure, StructureToJson(state.root, LeafForm::kNamesAndPlain));
    metadata[kStructureKey] = DumpJson(structure);
  }
  return metadata;
}

Result<FileLayout> LayOutFile(std::span<const NamedTensor> tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsEntry> entries;
  for (const NamedTensor& named : tensors) {
    entries.push_back({.name = named.name, .dtype = named.tensor->dtype, .shape = named.tensor->shape});
  }
  FileLayout layout;
  ASSAY_ASSIGN_OR_RETURN(std::string head, MakeSafetensorsHead(entries, metadata));
  layout.AddText(std::move(head));
  for (const NamedTensor& named : tensors) {
    DataRange range = RowMajorRange(named.tensor);
    layout.AddData(named.name, std::move(range.source), range.offset, named.tensor->bytes());
  }
  return layout;
}

/// Ends of shards in `tensors`.
std::vector<size_t> ShardEnds(std::span<const NamedTensor> tensors, const SafetensorsOptions& options) {
  int64_t total = 0;
  for (const NamedTensor& named : tensors) {
    total += named.tensor->bytes();
  }
  int64_t limit = options.shard_bytes;
  if (options.shards > 1) {
    limit = std::max<int64_t>((total + options.shards - 1) / options.shards, 1);
  }
  std::vector<size_t> ends;
  int64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t next = tensors[i].tensor->bytes();
    if (limit > 0 && bytes > 0 && bytes + next > limit) {
      ends.push_back(i);
      bytes = 0;
    }
    bytes += next;
  }
  ends.push_back(tensors.size());
  return ends;
}

}  // namespace

Result<SafetensorsLayout> LayOutSafetensors(const State& state, const SafetensorsOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors, TensorsInOrder(state));
  ASSAY_ASSIGN_OR_RETURN(auto metadata, MetadataOf(state, options));
  const std::vector<size_t> ends = ShardEnds(tensors, options);
  SafetensorsLayout result;
  nlohmann::json weight_map = nlohmann::json::object();
  size_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const auto part = std::span(tensors).subspan(begin, ends[i] - begin);
    NamedLayout& file = result.files.emplace_back();
    file.name = ends.size() == 1
                    ? fmt::format("{}.safetensors", options.stem)
                    : fmt::format("{}{}-{:05}-of-{:05}.safetensors", options.folder, options.stem, i + 1, ends.size());
    ASSAY_ASSIGN_OR_RETURN(file.layout, LayOutFile(part, metadata));
    metadata.erase(kStructureKey);
    for (const NamedTensor& named : part) {
      weight_map[named.name] = file.name;
    }
    begin = ends[i];
  }
  if (ends.size() > 1) {
    result.index_name = options.stem + ".safetensors.index.json";
    result.index = DumpJsonPretty({{"metadata", {{"total_size", TensorBytes(state)}, {kSaveIdKey, options.save_id}}},
                                   {"weight_map", weight_map}});
  }
  return result;
}

}  // namespace assay::checkpoint
