#include "job/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"

namespace assay::job {
namespace {

bool IsIdPart(std::string_view part) {
  const auto is_id = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  const auto is_edge = [](char c) { return c == '-' || c == '.'; };
  return !part.empty() && std::ranges::all_of(part, is_id) && !is_edge(part.front()) && !is_edge(part.back()) &&
         part.find("--") == std::string_view::npos && part.find("..") == std::string_view::npos;
}

}  // namespace

std::string HubHomeDirectory() {
  if (const std::string home = EnvironmentText("HF_HOME"); !home.empty()) {
    return home;
  }
  const std::string cache = EnvironmentText("XDG_CACHE_HOME");
  return (cache.empty() ? HomeDirectory() + "/.cache" : cache) + "/huggingface";
}

std::string HubCacheDirectory() {
  const std::string cache = EnvironmentText("HF_HUB_CACHE");
  return cache.empty() ? HubHomeDirectory() + "/hub" : cache;
}

bool IsHubRepository(std::string_view text) {
  const size_t slash = text.find('/');
  return slash == std::string_view::npos ? IsIdPart(text)
                                         : IsIdPart(text.substr(0, slash)) && IsIdPart(text.substr(slash + 1));
}

std::string HubRepositoryFolder(const std::string& cache, std::string_view repository) {
  std::string name(repository);
  if (const size_t slash = name.find('/'); slash != std::string::npos) {
    name.replace(slash, 1, "--");
  }
  return fmt::format("{}/models--{}", cache, name);
}

std::string FindHubSnapshot(const std::string& cache, std::string_view repository, const std::string& revision) {
  if (!IsHubRepository(repository)) {
    return "";
  }
  const std::string folder = HubRepositoryFolder(cache, repository);
  const auto reference = ReadFile(folder + "/refs/" + revision);
  const std::string snapshot =
      fmt::format("{}/snapshots/{}", folder, reference.ok() ? Trim(*reference) : std::string_view(revision));
  return IsDirectory(snapshot) ? snapshot : "";
}

}  // namespace assay::job
