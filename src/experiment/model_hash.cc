#include "experiment/model_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/files.h"
#include "data/file_hash.h"

namespace assay::experiment {
namespace {

bool DefinesModel(const std::string& name) {
  return name == "config.json" || name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
}

}  // namespace

Result<std::string> HashModel(const std::string& model_dir, const std::string& cache_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(model_dir, error)) {
    if (const std::string name = entry.path().filename().string(); DefinesModel(name)) {
      names.push_back(name);
    }
  }
  if (error) {
    return ErrnoStatus(error.value(), "read model folder", model_dir);
  }
  std::sort(names.begin(), names.end());
  std::string contents;
  for (const std::string& name : names) {
    ASSAY_ASSIGN_OR_RETURN(const std::string hash, data::HashFile(model_dir + "/" + name, cache_dir));
    contents += fmt::format("{} {}\n", name, hash);
  }
  return Sha256Hex(contents);
}

}  // namespace assay::experiment
