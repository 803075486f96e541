// Models to Hugging Face folders.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/causal_lm.h"

namespace assay::engine {

/// What a model's folder is made of.
struct Checkpoint {
  std::vector<NamedTensor> parameters;  ///< at least one; the first gives the dtype that config.json names
  std::string config_json;
  std::string_view architecture;            ///< for a config.json that does not name one
  std::string source_dir;                   ///< where the model came from; may be empty
  std::span<const char* const> side_files;  ///< names of files that are copied from there where they exist
};

/// Writes config.json and model.safetensors (shards of at most 5 GB and an index when larger), as transformers'
/// save_pretrained lays them out. Every file appears under its name only when it is whole. Throws StatusError.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& output_dir);

}  // namespace assay::engine
