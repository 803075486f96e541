// The index of weights in shards, as transformers writes it: {"metadata": ..., "weight_map": {tensor: file}}.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/status.h"
#include "checkpoint/place.h"
#include "checkpoint/state.h"

namespace assay::checkpoint {

struct ShardIndex {
  std::map<std::string, std::string> file_of{};  ///< by tensor
  std::set<std::string> files{};
  std::string save_id{};  ///< of a save of ours
};

/// InvalidArgument for what is no such index, and for files that do not lie beside it.
Result<ShardIndex> ReadShardIndex(const DataSource& source);

/// All tensors of the shards that the index names. NotFound where a shard is missing, InvalidArgument where it lacks a
/// tensor that the index places in it.
Result<Value> ReadShards(FileSet& files, const std::string& index_name, Format format);

}  // namespace assay::checkpoint
