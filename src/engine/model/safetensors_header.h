// Parses and checks the JSON header of a safetensors file. Of libtorch it needs the names of dtypes alone.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay::engine {

/// Where one tensor stands in a file.
struct TensorEntry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  size_t begin = 0;  ///< bytes from the start of the file
  size_t end = 0;
};

/// "BF16" and so on; throws StatusError for a dtype that the format has no name for.
std::string safetensors_dtype_name(at::ScalarType dtype);

struct SafetensorsHeader {
  std::map<std::string, TensorEntry, std::less<>> entries;
  std::map<std::string, std::string> metadata;
};

/// `file` is the whole content; `path` is for messages. Throws StatusError.
SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& path);

}  // namespace assay::engine
