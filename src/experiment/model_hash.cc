#include "experiment/model_hash.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace assay::experiment {
namespace {

/// Changes with the file: "/models/m/model.safetensors 269060552 1769860800.123456789".
Result<std::string> Identity(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    return ErrnoStatus(errno, "read", path);
  }
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::weakly_canonical(path, error);
  return fmt::format("{} {} {}.{:09}", error ? path : absolute.string(), info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

Result<std::string> HashFile(const std::string& path, const std::string& cache_dir) {
  ASSAY_ASSIGN_OR_RETURN(const std::string identity, Identity(path));
  const std::string entry = fmt::format("{}/hashes/{}.json", cache_dir, Sha256Hex(identity));
  if (const Result<nlohmann::json> known = ReadJsonFile(entry); known.ok() && known->is_object()) {
    std::string hash;
    const Status status = ReadField(*known, "sha256", hash);
    if (status.ok() && !hash.empty()) {
      return hash;
    }
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string hash, Sha256HexOfFile(path));
  ASSAY_RETURN_IF_ERROR(MakeDirectories(cache_dir + "/hashes"));
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(entry, DumpJsonPretty({{"file", identity}, {"sha256", hash}})));
  return hash;
}

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
    ASSAY_ASSIGN_OR_RETURN(const std::string hash, HashFile(model_dir + "/" + name, cache_dir));
    contents += fmt::format("{} {}\n", name, hash);
  }
  return Sha256Hex(contents);
}

}  // namespace assay::experiment
