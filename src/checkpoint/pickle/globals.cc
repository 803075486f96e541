#include "checkpoint/pickle/globals.h"

#include <algorithm>
#include <vector>

#include "checkpoint/tensor/dtype.h"

namespace assay::checkpoint {
namespace {

constexpr GlobalUse kName = GlobalUse::kName;
constexpr GlobalUse kCall = GlobalUse::kCall;
constexpr GlobalUse kDictLike = GlobalUse::kDictLike;

constexpr GlobalName kFixed[] = {
    {"collections", "OrderedDict", kDictLike},
    {"collections", "Counter", kDictLike},
    {"collections", "defaultdict", kDictLike},
    {"builtins", "set"},
    {"builtins", "frozenset"},
    {"builtins", "bytearray"},
    {"builtins", "complex"},
    {"builtins", "slice"},
    {"builtins", "range"},
    {"builtins", "bool", kName},
    {"builtins", "int", kName},
    {"builtins", "float", kName},
    {"builtins", "str", kName},
    {"builtins", "bytes"},
    {"builtins", "list", kName},
    {"builtins", "tuple", kName},
    {"builtins", "dict", kName},
    {"_codecs", "encode"},
    {"torch", "Size"},
    {"torch", "device"},
    {"torch", "Tensor", kName},
    {"torch.nn.parameter", "Parameter"},
    {"torch.serialization", "_get_layout"},
    {"torch.storage", "UntypedStorage", kName},
    {"torch.storage", "TypedStorage", kName},
    {"torch", "per_tensor_affine", kName},
    {"torch", "per_tensor_symmetric", kName},
    {"torch", "per_channel_affine", kName},
    {"torch", "per_channel_symmetric", kName},
    {"torch", "per_channel_affine_float_qparams", kName},
    {"torch._utils", "_rebuild_tensor"},
    {"torch._utils", "_rebuild_tensor_v2"},
    {"torch._utils", "_rebuild_tensor_v3"},
    {"torch._utils", "_rebuild_parameter"},
    {"torch._utils", "_rebuild_parameter_with_state"},
    {"torch._utils", "_rebuild_qtensor"},
    {"torch._utils", "_rebuild_sparse_tensor"},
    {"torch._utils", "_rebuild_nested_tensor"},
    {"torch._utils", "_rebuild_meta_tensor_no_storage"},
    {"torch._utils", "_rebuild_device_tensor_from_numpy"},
    {"torch._utils", "_rebuild_device_tensor_from_cpu_tensor"},
    {"numpy", "ndarray", kName},
    {"numpy", "dtype"},
    {"numpy.core.multiarray", "_reconstruct"},
    {"numpy.core.multiarray", "scalar"},
    {"numpy._core.multiarray", "_reconstruct"},
    {"numpy._core.multiarray", "scalar"},
    {"numpy.core.numeric", "_frombuffer"},
    {"numpy._core.numeric", "_frombuffer"},
    {"pathlib", "PosixPath"},
    {"pathlib", "PurePosixPath"},
    {"pathlib", "WindowsPath"},
    {"pathlib", "PureWindowsPath"},
    {"pathlib._local", "PosixPath"},
    {"pathlib._local", "PurePosixPath"},
    {"pathlib._local", "WindowsPath"},
    {"pathlib._local", "PureWindowsPath"},
    {"datetime", "datetime"},
    {"datetime", "date"},
    {"datetime", "time"},
    {"datetime", "timedelta"},
    {"datetime", "timezone"},
    {"argparse", "Namespace"},
    {"lightning.fabric.utilities.data", "AttributeDict", kDictLike},
    {"lightning_fabric.utilities.data", "AttributeDict", kDictLike},
    {"pytorch_lightning.utilities.parsing", "AttributeDict", kDictLike},
};

constexpr GlobalName kMetadata[] = {
    {"torch.distributed.checkpoint.metadata", "Metadata"},
    {"torch.distributed.checkpoint.metadata", "MetadataIndex"},
    {"torch.distributed.checkpoint.metadata", "TensorStorageMetadata"},
    {"torch.distributed.checkpoint.metadata", "BytesStorageMetadata"},
    {"torch.distributed.checkpoint.metadata", "ChunkStorageMetadata"},
    {"torch.distributed.checkpoint.metadata", "TensorProperties"},
    {"torch.distributed.checkpoint.metadata", "_MEM_FORMAT_ENCODING"},
    {"torch.distributed.checkpoint.metadata", "StorageMeta"},
    {"torch.distributed.checkpoint.filesystem", "_StorageInfo"},
    {"builtins", "getattr", GlobalUse::kMember},
};

/// Modules that have another name since Python 3, and of torch since 1.7.
constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"__builtin__", "builtins"},
    {"torch.tensor", "torch._tensor"},
};

std::string_view Today(std::string_view module) {
  for (const auto& [before, now] : kRenamed) {
    if (module == before) {
      return now;
    }
  }
  return module;
}

std::vector<GlobalName> MakeStateGlobals() {
  std::vector<GlobalName> list(std::begin(kFixed), std::end(kFixed));
  for (const DTypeInfo& info : DTypes()) {
    list.push_back({"torch", info.name, kName});
    if (!info.storage_class.empty()) {
      list.push_back({"torch", info.storage_class, kName});
    }
  }
  return list;
}

}  // namespace

GlobalList StateGlobals() {
  static const std::vector<GlobalName> list = MakeStateGlobals();
  return list;
}

GlobalList MetadataGlobals() {
  static const std::vector<GlobalName> list = [] {
    std::vector<GlobalName> both = MakeStateGlobals();
    both.insert(both.end(), std::begin(kMetadata), std::end(kMetadata));
    return both;
  }();
  return list;
}

const GlobalName* FindGlobal(GlobalList list, std::string_view module, std::string_view name) {
  const auto row = std::ranges::find_if(list, [&, today = Today(module)](const GlobalName& global) {
    return global.name == name && global.module == today;
  });
  return row == list.end() ? nullptr : &*row;
}

}  // namespace assay::checkpoint
