#include "launch/oom_count.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace assay::launch {
namespace {

/// The number behind "oom_kill " in a file of such lines.
std::optional<int64_t> ReadCounter(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) {
    return std::nullopt;
  }
  constexpr std::string_view kKey = "oom_kill ";
  for (const std::string& line : Split(*text, '\n')) {
    if (line.starts_with(kKey)) {
      return std::strtoll(line.c_str() + kKey.size(), nullptr, 10);
    }
  }
  return std::nullopt;
}

/// Of "0::/user.slice" (v2) or "9:memory:/docker/abc" (v1) the file that counts.
std::string CounterOf(const std::string& line) {
  const std::vector<std::string> parts = Split(line, ':');
  constexpr size_t kParts = 3;
  if (parts.size() != kParts) {
    return "";
  }
  if (parts[1].empty()) {
    return fmt::format("/sys/fs/cgroup{}/memory.events", parts[2]);
  }
  return parts[1] == "memory" ? fmt::format("/sys/fs/cgroup/memory{}/memory.oom_control", parts[2]) : "";
}

}  // namespace

int64_t OutOfMemoryKills(const std::string& root) {
  if (const Result<std::string> groups = ReadFile(root + "/proc/self/cgroup"); groups.ok()) {
    for (const std::string& line : Split(*groups, '\n')) {
      const std::string path = CounterOf(line);
      const std::optional<int64_t> kills = path.empty() ? std::nullopt : ReadCounter(root + path);
      if (kills) {
        return *kills;
      }
    }
  }
  return ReadCounter(root + "/proc/vmstat").value_or(0);
}

}  // namespace assay::launch
