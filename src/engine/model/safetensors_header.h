// Parses and checks the JSON header of a safetensors file. Private to engine/model.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/model/safetensors.h"

namespace assay::engine {

struct SafetensorsHeader {
  std::map<std::string, TensorEntry, std::less<>> entries;
  std::map<std::string, std::string> metadata;
};

/// `file` is the whole content; `path` is for messages. Throws StatusError.
SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& path);

}  // namespace assay::engine
