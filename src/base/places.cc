#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/files.h"

namespace assay {
namespace {

std::string HomeDirectory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return home;
  }
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_dir : "/tmp";
}

// The XDG base directory specification says to ignore a variable that is not an absolute path.
std::string XdgDirectory(const char* variable, const char* below_home) {
  const char* value = std::getenv(variable);
  if (value != nullptr && *value == '/') {
    return std::string(value) + "/assay";
  }
  return HomeDirectory() + "/" + below_home + "/assay";
}

}  // namespace

std::string ExecutablePath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string ShareDirectory() {
  if (const char* share = std::getenv("ASSAY_SHARE"); share != nullptr && *share != '\0') {
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
