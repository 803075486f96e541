// A peft adapter's folder: adapter_config.json beside adapter_model.safetensors.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/model/causal_lm.h"
#include "engine/model/safetensors.h"

namespace assay::engine {

inline constexpr char kAdapterConfigFile[] = "adapter_config.json";

/// A file of a folder that is read, and its text.
struct AdapterConfigText {
  std::string path;
  std::string text;
};

/// Throws StatusError, as all of these.
AdapterConfigText read_adapter_config(const std::string& adapter_dir);
SafetensorsFile open_adapter_weights(const std::string& adapter_dir);

/// A copy of tensor `name`, which must have that shape and be of floating point; `taken` remembers its name.
at::Tensor take_tensor(const SafetensorsFile& file, const std::string& name, const std::vector<int64_t>& shape,
                       std::set<std::string>& taken);

/// Writes both files in the place of an earlier adapter. What ends halfway leaves none that can be read.
void save_adapter_folder(const std::string& output_dir, const std::string& config_text,
                         const std::vector<NamedTensor>& weights);

}  // namespace assay::engine
