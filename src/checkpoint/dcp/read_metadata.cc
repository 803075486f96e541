#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/pickle/machine.h"

namespace assay::checkpoint {
namespace {

using Node = PickleNode;
using Kind = PickleNode::Kind;

/// Chunks take two dozen nodes each, most of one to three bytes where names repeat: of few tensors over a thousand
/// ranks a file has somewhat less than four bytes a node, and millions of nodes.
constexpr size_t kBytesOfNode = 2;
constexpr size_t kNodesAtLeast = size_t{1} << 20;
/// Memory for names, places and parts, as a multiple of the file's bytes: a text that the file has once and names again
/// is copied for each.
constexpr size_t kMostGrowth = 32;
constexpr size_t kBytesAtLeast = size_t{16} << 20;

constexpr std::string_view kMetadataModule = "torch.distributed.checkpoint.metadata";

bool IsObject(const Node* node, std::string_view name) {
  return node != nullptr && node->kind == Kind::kObject && node->callee->global->name == name;
}

/// The attribute of that name that BUILD gave an object; null for none, and for None.
const Node* Attribute(const Node& object, std::string_view name) {
  const Node* state = object.state;
  for (size_t i = 0; state != nullptr && state->kind == Kind::kDict && i + 1 < state->items.size(); i += 2) {
    if (state->items[i]->kind == Kind::kText && state->items[i]->text == name) {
      return state->items[i + 1]->kind == Kind::kNone ? nullptr : state->items[i + 1];
    }
  }
  return nullptr;
}

std::optional<Sizes> SizesOf(const Node* node) {
  if (IsObject(node, "Size") && node->arguments->items.size() == 1) {
    node = node->arguments->items.front();
  }
  if (node == nullptr || (node->kind != Kind::kTuple && node->kind != Kind::kList)) {
    return std::nullopt;
  }
  Sizes sizes;
  for (const Node* item : node->items) {
    if (item->kind != Kind::kInt || item->integer < 0) {
      return std::nullopt;
    }
    sizes.push_back(item->integer);
  }
  return sizes;
}

size_t BytesOf(const std::optional<Sizes>& sizes) {
  return sizes ? sizes->size() * sizeof(int64_t) : 0;
}

std::string TextOf(const Node* node) {
  return node != nullptr && node->kind == Kind::kText ? std::string(node->text) : "";
}

/// "a/b" within the folder: no empty part, none that leads out of it.
bool LiesInFolder(std::string_view path) {
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos) {
      return false;
    }
    if (slash == std::string_view::npos) {
      return true;
    }
    path.remove_prefix(slash + 1);
  }
}

class MetadataReader {
 public:
  MetadataReader(size_t file_bytes, const std::string& uri)
      : bytes_left_(std::max(kBytesAtLeast, file_bytes * kMostGrowth)), uri_(uri) {}

  Result<DcpMetadata> Run(const Node& root) {
    if (!IsObject(&root, "Metadata") || root.callee->global->module != kMetadataModule) {
      return Fail("it holds no Metadata of torch.distributed.checkpoint");
    }
    const Node* entries = Attribute(root, "state_dict_metadata");
    if (entries == nullptr || entries->kind != Kind::kDict) {
      return Fail("it has no list of what was saved");
    }
    ASSAY_RETURN_IF_ERROR(ReadPlaces(Attribute(root, "storage_data")));
    const Node* paths = Attribute(root, "planner_data");
    DcpMetadata metadata;
    for (size_t i = 0; i + 1 < entries->items.size(); i += 2) {
      ASSAY_ASSIGN_OR_RETURN(DcpEntry entry, ReadEntry(*entries->items[i], *entries->items[i + 1]));
      metadata.entries.push_back(std::move(entry));
    }
    ASSAY_RETURN_IF_ERROR(ReadPaths(paths, metadata));
    if (const Node* meta = Attribute(root, "storage_meta"); IsObject(meta, "StorageMeta")) {
      metadata.save_id = TextOf(Attribute(*meta, "save_id"));
      metadata.checkpoint_id = TextOf(Attribute(*meta, "checkpoint_id"));
    }
    return metadata;
  }

 private:
  Status Fail(const std::string& what) const {
    return Status::InvalidArgument(
        fmt::format("{}: {}; the file is damaged or not of torch.distributed.checkpoint", uri_, what));
  }

  /// Of what is about to be made.
  Status Take(size_t bytes) {
    if (bytes > bytes_left_) {
      return Fail("it would be beyond measure if all that it names again were written out: a pickle bomb");
    }
    bytes_left_ -= bytes;
    return Status::Ok();
  }

  /// What MetadataIndex is compared by.
  static std::string KeyOf(const std::string& name, const Sizes* offsets) {
    return offsets == nullptr ? name : name + "\n" + ShapeText(*offsets);
  }

  Status ReadPlaces(const Node* places) {
    if (places == nullptr || places->kind != Kind::kDict) {
      return Fail("it does not say where things are");
    }
    for (size_t i = 0; i + 1 < places->items.size(); i += 2) {
      const Node* index = places->items[i];
      const Node* info = places->items[i + 1];
      if (!IsObject(index, "MetadataIndex") || !IsObject(info, "_StorageInfo")) {
        return Fail("one of its places is none of files");
      }
      const std::string name = TextOf(Attribute(*index, "fqn"));
      const Node* offset = Attribute(*index, "offset");
      const std::optional<Sizes> offsets = SizesOf(offset);
      ASSAY_RETURN_IF_ERROR(Take(sizeof(DcpPlace) + name.size() + BytesOf(offsets)));
      ASSAY_ASSIGN_OR_RETURN(DcpPlace place, ReadPlace(name, *info));
      if (name.empty() || (offset != nullptr && !offsets)) {
        return Fail("one of its places is of nothing");
      }
      places_[KeyOf(name, offsets ? &*offsets : nullptr)] = std::move(place);
    }
    return Status::Ok();
  }

  Result<DcpPlace> ReadPlace(const std::string& name, const Node& info) {
    const Node* offset = Attribute(info, "offset");
    const Node* length = Attribute(info, "length");
    DcpPlace place = {.file = TextOf(Attribute(info, "relative_path"))};
    ASSAY_RETURN_IF_ERROR(Take(place.file.size()));
    if (!LiesInFolder(place.file)) {
      return Fail(fmt::format("'{}' lies in '{}', which is no file of its folder", name, place.file));
    }
    if (offset == nullptr || length == nullptr || offset->kind != Kind::kInt || length->kind != Kind::kInt ||
        offset->integer < 0 || length->integer < 0 ||
        offset->integer > std::numeric_limits<int64_t>::max() - length->integer) {
      return Fail(fmt::format("'{}' has no offset and length", name));
    }
    if (const Node* transforms = Attribute(info, "transform_descriptors");
        transforms != nullptr && !transforms->items.empty()) {
      return Status::Unsupported(fmt::format("{}: '{}' was transformed when it was written ({}), which is not undone",
                                             uri_, name, TextOf(transforms->items.front())));
    }
    place.offset = offset->integer;
    place.length = length->integer;
    return place;
  }

  Result<DcpPlace> PlaceOf(const std::string& name, const Sizes* offsets) {
    const auto found = places_.find(KeyOf(name, offsets));
    if (found == places_.end()) {
      return Fail(
          fmt::format("it does not say where '{}'{} is", name, offsets == nullptr ? "" : " at " + ShapeText(*offsets)));
    }
    ASSAY_RETURN_IF_ERROR(Take(sizeof(DcpChunk) + found->second.file.size()));
    return found->second;
  }

  Result<DcpEntry> ReadEntry(const Node& key, const Node& value) {
    DcpEntry entry = {.name = TextOf(&key)};
    ASSAY_RETURN_IF_ERROR(Take(sizeof(DcpEntry) + 2 * entry.name.size()));
    entry.path = {entry.name};
    if (IsObject(&value, "BytesStorageMetadata")) {
      ASSAY_ASSIGN_OR_RETURN(DcpPlace place, PlaceOf(entry.name, nullptr));
      entry.chunks.push_back({{}, std::move(place)});
      return entry;
    }
    const std::optional<Sizes> shape =
        IsObject(&value, "TensorStorageMetadata") ? SizesOf(Attribute(value, "size")) : std::nullopt;
    if (!shape) {
      return Fail(fmt::format("'{}' is neither a tensor nor a value", entry.name));
    }
    entry.is_tensor = true;
    ASSAY_RETURN_IF_ERROR(Take(BytesOf(shape)));
    entry.shape = *shape;
    ASSAY_RETURN_IF_ERROR(ReadProperties(Attribute(value, "properties"), entry));
    const Node* chunks = Attribute(value, "chunks");
    for (const Node* chunk : chunks == nullptr ? std::vector<Node*>() : chunks->items) {
      const std::optional<Sizes> offsets = SizesOf(Attribute(*chunk, "offsets"));
      const std::optional<Sizes> sizes = SizesOf(Attribute(*chunk, "sizes"));
      if (!IsObject(chunk, "ChunkStorageMetadata") || !offsets || !sizes ||
          !LiesWithin({*offsets, *sizes}, entry.shape)) {
        return Fail(fmt::format("a part of '{}' does not lie within its shape {}", entry.name, ShapeText(entry.shape)));
      }
      ASSAY_RETURN_IF_ERROR(Take(BytesOf(offsets) + BytesOf(sizes)));
      ASSAY_ASSIGN_OR_RETURN(DcpPlace place, PlaceOf(entry.name, &*offsets));
      entry.chunks.push_back({{*offsets, *sizes}, std::move(place)});
    }
    return entry;
  }

  /// (dtype, layout, requires_grad, memory format, pinned).
  Status ReadProperties(const Node* properties, DcpEntry& entry) const {
    const Node* state = IsObject(properties, "TensorProperties") ? properties->state : nullptr;
    const Node* dtype =
        state != nullptr && state->kind == Kind::kTuple && state->items.size() >= 3 ? state->items.front() : nullptr;
    const DTypeInfo* info = dtype != nullptr && dtype->kind == Kind::kGlobal ? FindDType(dtype->global->name) : nullptr;
    if (info == nullptr) {
      return Fail(fmt::format("'{}' has no dtype that is known", entry.name));
    }
    entry.dtype = info->dtype;
    entry.requires_grad = state->items[2]->truth;
    return Status::Ok();
  }

  /// A planner of another kind keeps other things there: then names are all there is.
  Status ReadPaths(const Node* paths, DcpMetadata& metadata) {
    std::unordered_map<std::string_view, const Node*> by_name;
    for (size_t i = 0; paths != nullptr && paths->kind == Kind::kDict && i + 1 < paths->items.size(); i += 2) {
      if (paths->items[i]->kind == Kind::kText && paths->items[i + 1]->kind == Kind::kTuple) {
        by_name[paths->items[i]->text] = paths->items[i + 1];
      }
    }
    for (DcpEntry& entry : metadata.entries) {
      const auto found = by_name.find(entry.name);
      if (found == by_name.end() || found->second->items.empty()) {
        continue;
      }
      std::vector<PathStep> path;
      for (const Node* step : found->second->items) {
        ASSAY_RETURN_IF_ERROR(Take(sizeof(PathStep) + step->text.size()));
        if (step->kind == Kind::kInt) {
          path.emplace_back(step->integer);
        } else {
          path.emplace_back(TextOf(step));
        }
      }
      entry.path = std::move(path);
    }
    return Status::Ok();
  }

  size_t bytes_left_;  ///< of memory, for what is made of the file
  const std::string& uri_;
  std::unordered_map<std::string, DcpPlace> places_;
};

}  // namespace

Result<DcpMetadata> ReadDcpMetadata(std::string_view bytes, const std::string& uri) {
  ASSAY_ASSIGN_OR_RETURN(
      const Pickle pickle,
      ReadPickle(bytes, MetadataGlobals(), uri, {.nodes = std::max(kNodesAtLeast, bytes.size() / kBytesOfNode)}));
  return MetadataReader(bytes.size(), uri).Run(*pickle.root);
}

}  // namespace assay::checkpoint
