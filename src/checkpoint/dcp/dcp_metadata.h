// The .metadata of torch.distributed.checkpoint: which boxes of which tensors lie where (torch/distributed/checkpoint/
// metadata.py and filesystem.py; a pickle).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/tensor/box.h"
#include "checkpoint/tensor/dtype.h"
#include "checkpoint/value/flat_state.h"

namespace assay::checkpoint {

/// The file that makes a folder a checkpoint.
inline constexpr char kDcpMetadataName[] = ".metadata";
/// It may have so many bytes.
inline constexpr int64_t kMostDcpMetadataBytes = int64_t{4} << 30;

/// An item of a file: what torch.save made of a tensor or a value.
struct DcpPlace {
  std::string file{};  ///< relative to the checkpoint's folder
  int64_t offset = 0;
  int64_t length = 0;
};

struct DcpChunk {
  Box box{};
  DcpPlace place{};
};

/// A tensor, or a value, which has one place and no shape.
struct DcpEntry {
  std::string name{};
  std::vector<PathStep> path{};  ///< in the nested state dict; its name alone where nothing is said
  bool is_tensor = false;
  DType dtype = DType::kFloat32;
  bool requires_grad = false;
  Sizes shape{};
  std::vector<DcpChunk> chunks{};  ///< of a value: one
};

struct DcpMetadata {
  std::vector<DcpEntry> entries{};
  std::string save_id{};
  std::string checkpoint_id{};
};

/// `bytes` are the file; `uri` is for errors. Only the names of these structures are allowed in it, everything else is
/// refused by name and nothing is executed. Entries whose place is missing, chunks that do not lie within their tensor,
/// and files that do not lie in the folder are InvalidArgument.
Result<DcpMetadata> ReadDcpMetadata(std::string_view bytes, const std::string& uri);

/// What stock torch unpickles as its Metadata.
std::string WriteDcpMetadata(const DcpMetadata& metadata);

}  // namespace assay::checkpoint
