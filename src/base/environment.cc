#include "base/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace assay {

std::string EnvironmentText(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string HomeDirectory() {
  if (std::string home = EnvironmentText("HOME"); !home.empty()) {
    return home;
  }
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_dir : "/tmp";
}

}  // namespace assay
