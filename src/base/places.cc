#include <filesystem>
#include <system_error>

#include "base/environment.h"
#include "base/files.h"

namespace assay {
namespace {

// The XDG base directory specification says to ignore a variable that is not an absolute path.
std::string XdgDirectory(const char* variable, const char* below_home) {
  if (const std::string value = EnvironmentText(variable); value.starts_with('/')) {
    return value + "/assay";
  }
  return HomeDirectory() + "/" + below_home + "/assay";
}

}  // namespace

std::string ExecutablePath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string ShareDirectory() {
  if (std::string share = EnvironmentText("ASSAY_SHARE"); !share.empty()) {
    return share;
  }
  const std::filesystem::path program = ExecutablePath();
  return (program.parent_path().parent_path() / "share" / "assay").string();
}

std::string UserDataDirectory() {
  return XdgDirectory("XDG_DATA_HOME", ".local/share");
}
std::string UserCacheDirectory() {
  return XdgDirectory("XDG_CACHE_HOME", ".cache");
}

}  // namespace assay
