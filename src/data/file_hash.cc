#include "data/file_hash.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"

namespace assay::data {
namespace {

/// Changes with the file, whatever is done to its time of modification: "/models/m/model.safetensors 1311233 269060552
/// 1769860800.123456789 1769860800.123456789".
Result<std::string> Identity(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    return ErrnoStatus(errno, "read", path);
  }
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::weakly_canonical(path, error);
  return fmt::format("{} {} {} {}.{:09} {}.{:09}", error ? path : absolute.string(), info.st_ino, info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

}  // namespace

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
  ASSAY_ASSIGN_OR_RETURN(const std::string identity_after, Identity(path));
  if (identity_after != identity) {
    return hash;  // of bytes that may be partly old: found again by neither
  }
  ASSAY_RETURN_IF_ERROR(MakeDirectories(cache_dir + "/hashes"));
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(entry, DumpJsonPretty({{"file", identity}, {"sha256", hash}})));
  return hash;
}

}  // namespace assay::data
