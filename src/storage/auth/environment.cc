#include "storage/auth/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "storage/auth/time_format.h"

namespace assay::storage {

std::string Environment::Home() const {
  if (const std::optional<std::string> home = variable("HOME")) {
    return *home;
  }
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_dir : "/";
}

std::string Environment::ExpandUser(const std::string& path) const {
  return path == "~" || path.starts_with("~/") ? Home() + path.substr(1) : path;
}

Environment SystemEnvironment(Fetch fetch) {
  const auto variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
  };
  return {std::move(fetch), variable, &WallClockSeconds};
}

}  // namespace assay::storage
