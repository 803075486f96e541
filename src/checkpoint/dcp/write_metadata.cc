#include <utility>

#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/pickle/pickle_writer.h"

namespace assay::checkpoint {
namespace {

constexpr char kModule[] = "torch.distributed.checkpoint.metadata";
constexpr char kFileModule[] = "torch.distributed.checkpoint.filesystem";
constexpr char kVersion[] = "1.0.0";

class MetadataWriter {
 public:
  std::string Run(const DcpMetadata& metadata) {
    Begin(kModule, "Metadata");
    Key("state_dict_metadata");
    WriteDict(metadata.entries, [this](const DcpEntry& entry) { WriteEntry(entry); });
    Key("planner_data");
    WriteDict(metadata.entries, [this](const DcpEntry& entry) { WritePath(entry); });
    Key("storage_data");
    WritePlaces(metadata);
    Key("storage_meta");
    WriteMeta(metadata);
    Key("version");
    out_.Text(kVersion);
    End();
    return out_.Finish();
  }

 private:
  /// An object of the class, and the begin of the dict that becomes its state.
  void Begin(std::string_view module, std::string_view name) {
    out_.Global(module, name);
    out_.EmptyTuple();
    out_.NewObject();
    out_.EmptyDict();
    out_.Mark();
  }
  void End() {
    out_.SetItems();
    out_.Build();
  }
  void Key(std::string_view key) { out_.Text(key); }
  void Size(const Sizes& sizes) {
    out_.Global("torch", "Size");
    out_.Tuple(sizes);
    out_.EndTuple(1);
    out_.Reduce();
  }

  template <typename Write>
  void WriteDict(const std::vector<DcpEntry>& entries, const Write& write) {
    out_.EmptyDict();
    out_.Mark();
    for (const DcpEntry& entry : entries) {
      out_.Text(entry.name);
      write(entry);
    }
    out_.SetItems();
  }

  void WriteEntry(const DcpEntry& entry) {
    if (!entry.is_tensor) {
      Begin(kModule, "BytesStorageMetadata");
      return End();
    }
    Begin(kModule, "TensorStorageMetadata");
    Key("properties");
    WriteProperties(entry);
    Key("size");
    Size(entry.shape);
    Key("chunks");
    out_.EmptyList();
    out_.Mark();
    for (const DcpChunk& chunk : entry.chunks) {
      Begin(kModule, "ChunkStorageMetadata");
      Key("offsets");
      Size(chunk.box.offsets);
      Key("sizes");
      Size(chunk.box.sizes);
      End();
    }
    out_.Appends();
    End();
  }

  /// dtype, layout, requires_grad, memory format (contiguous), pinned.
  void WriteProperties(const DcpEntry& entry) {
    out_.Global(kModule, "TensorProperties");
    out_.EmptyTuple();
    out_.NewObject();
    out_.BeginTuple(5);
    out_.Global("torch", InfoOf(entry.dtype).name);
    out_.Global("torch.serialization", "_get_layout");
    out_.Text("torch.strided");
    out_.EndTuple(1);
    out_.Reduce();
    out_.Bool(entry.requires_grad);
    out_.Global(kModule, "_MEM_FORMAT_ENCODING");
    out_.Int(0);
    out_.EndTuple(1);
    out_.Reduce();
    out_.Bool(false);
    out_.EndTuple(5);
    out_.Build();
  }

  void WritePath(const DcpEntry& entry) {
    out_.BeginTuple(entry.path.size());
    for (const PathStep& step : entry.path) {
      if (const auto* index = std::get_if<int64_t>(&step)) {
        out_.Int(*index);
      } else {
        out_.Text(std::get<std::string>(step));
      }
    }
    out_.EndTuple(entry.path.size());
  }

  void WritePlaces(const DcpMetadata& metadata) {
    out_.EmptyDict();
    out_.Mark();
    for (const DcpEntry& entry : metadata.entries) {
      for (size_t i = 0; i < entry.chunks.size(); ++i) {
        WriteIndex(entry, i);
        WritePlace(entry.chunks[i].place);
      }
    }
    out_.SetItems();
  }

  void WriteIndex(const DcpEntry& entry, size_t chunk) {
    Begin(kModule, "MetadataIndex");
    Key("fqn");
    out_.Text(entry.name);
    Key("index");
    if (entry.is_tensor) {
      out_.Int(static_cast<int64_t>(chunk));
      Key("offset");
      Size(entry.chunks[chunk].box.offsets);
    } else {
      out_.None();
    }
    End();
  }

  void WritePlace(const DcpPlace& place) {
    Begin(kFileModule, "_StorageInfo");
    Key("relative_path");
    out_.Text(place.file);
    Key("offset");
    out_.Int(place.offset);
    Key("length");
    out_.Int(place.length);
    End();
  }

  void WriteMeta(const DcpMetadata& metadata) {
    Begin(kModule, "StorageMeta");
    Key("checkpoint_id");
    out_.Text(metadata.checkpoint_id);
    Key("save_id");
    out_.Text(metadata.save_id);
    Key("load_id");
    out_.None();
    Key("modules");
    out_.EmptyList();
    End();
  }

  PickleWriter out_;
};

}  // namespace

std::string WriteDcpMetadata(const DcpMetadata& metadata) {
  return MetadataWriter().Run(metadata);
}

}  // namespace assay::checkpoint
