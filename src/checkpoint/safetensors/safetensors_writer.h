// Lays states out as safetensors: one file, or shards with the index that transformers reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/file/file_layout.h"
#include "checkpoint/state.h"

namespace assay::checkpoint {

struct NamedLayout {
  std::string name{};
  FileLayout layout{};
};

struct SafetensorsOptions {
  /// Of the file, or of its shards: "model" makes model.safetensors or model-00001-of-00002.safetensors.
  std::string stem = "model";
  /// Bytes of tensors in a shard, at most, unless one alone has more; 0: no bound, one file.
  int64_t shard_bytes = 0;
  /// At least so many shards, of about the same size; 0: as many as shard_bytes asks for.
  int shards = 0;
  std::string folder{};  ///< before the names of shards: "" or with '/' at its end
  std::string save_id{};
};

struct SafetensorsLayout {
  std::vector<NamedLayout> files{};
  std::string index_name{};  ///< empty: one file, no index
  std::string index{};       ///< its text
};

/// Tensors in the order of their element size, largest first, and then of their names, as the reference writer has
/// them: so all are aligned to their elements, from a begin that is a multiple of 64. Plain values and the tree they
/// are in stand in the metadata (of shards: of the first one). Unsupported, naming it, for a tensor or value that the
/// format cannot hold.
Result<SafetensorsLayout> LayOutSafetensors(const State& state, const SafetensorsOptions& options);

}  // namespace assay::checkpoint
