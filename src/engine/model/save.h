// Models to Hugging Face folders.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/causal_lm.h"

namespace assay::engine {

/// transformers' default for max_shard_size.
inline constexpr int64_t kMaxShardBytes = 5'000'000'000;

/// What a model's folder is made of.
struct Checkpoint {
  std::vector<NamedTensor> parameters;  ///< at least one; the first gives the dtype that config.json names
  std::string config_json;
  std::string_view architecture;            ///< for a config.json that does not name one
  std::string source_dir;                   ///< where the model came from; may be empty
  std::span<const char* const> side_files;  ///< names of files that are copied from there where they exist
  int64_t max_shard_bytes = kMaxShardBytes;
};

/// Writes config.json and model.safetensors (shards and an index when larger than max_shard_bytes), as transformers'
/// save_pretrained lays them out, in the place of an earlier save in `output_dir`. Every file appears under its name
/// only when it is whole, and a save that ends halfway leaves no folder that can be read: one that replaces another
/// save's files first removes what makes that one readable. Throws StatusError.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& output_dir);

}  // namespace assay::engine
