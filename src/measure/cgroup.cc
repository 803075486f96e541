#include "measure/cgroup.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "measure/proc_file.h"

namespace assay::measure {
namespace {

// A hierarchy as mounted: `root` is the group that stands at `folder`.
struct Mount {
  std::string root;
  std::string folder;
};

bool Contains(const std::vector<std::string>& list, std::string_view entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

// A line of mountinfo: "36 35 98:0 /root /folder options ... - type source super-options".
std::optional<Mount> ParseMount(const std::string& line, std::string_view controller, bool version2) {
  const size_t dash = line.find(" - ");
  if (dash == std::string::npos) {
    return std::nullopt;
  }
  const std::vector<std::string> before = Split(line.substr(0, dash), ' ');
  const std::vector<std::string> after = Split(line.substr(dash + 3), ' ');
  if (before.size() < 5 || after.size() < 3) {
    return std::nullopt;
  }
  const bool wanted =
      version2 ? after[0] == "cgroup2" : after[0] == "cgroup" && Contains(Split(after[2], ','), controller);
  return wanted ? std::optional(Mount{before[3], before[4]}) : std::nullopt;
}

std::optional<Mount> FindMount(std::string_view mountinfo, std::string_view controller, bool version2) {
  for (const std::string& line : Split(mountinfo, '\n')) {
    if (auto mount = ParseMount(line, controller, version2)) {
      return mount;
    }
  }
  return std::nullopt;
}

// `group` as seen from the mount: without the part of its path that is above the mount's root.
std::string Below(const std::string& group, const std::string& root) {
  if (group == root || (root != "/" && group.starts_with(root + "/"))) {
    return group.substr(root.size());
  }
  return group;
}

std::optional<double> ReadNumber(const std::string& path) {
  const auto text = ReadFile(path);
  double value = 0;
  if (!text.ok() || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) {
    return std::nullopt;  // version 2 writes "max" for no limit
  }
  return value;
}

double FolderQuota(const std::string& folder, bool version2) {
  if (version2) {
    const auto text = ReadFile(folder + "/cpu.max");  // "150000 100000" or "max 100000"
    const auto parts = text.ok() ? Split(Trim(*text), ' ') : std::vector<std::string>();
    const double quota = parts.size() == 2 ? std::atof(parts[0].c_str()) : 0;
    return quota > 0 ? quota / std::atof(parts[1].c_str()) : 0;
  }
  const auto quota = ReadNumber(folder + "/cpu.cfs_quota_us");
  const auto period = ReadNumber(folder + "/cpu.cfs_period_us");
  return quota && period && *quota > 0 && *period > 0 ? *quota / *period : 0;
}

// Version 1 says "no limit" by a number near the largest.
constexpr double kNoLimit = 1e18;

double FolderLimit(const std::string& folder, bool version2) {
  const auto limit = ReadNumber(folder + (version2 ? "/memory.max" : "/memory.limit_in_bytes"));
  return std::min(kNoLimit, limit.value_or(kNoLimit));
}

std::string UsageFile(const std::string& folder, bool version2) {
  return folder + (version2 ? "/memory.current" : "/memory.usage_in_bytes");
}

// Of the memory in use, what holds files can be given back.
double HeldBytes(const std::string& folder, bool version2) {
  const auto text = ReadFile(folder + "/memory.stat");
  const std::string stat = text.ok() ? *text : "";
  const char* active = version2 ? "active_file" : "total_active_file";
  const char* inactive = version2 ? "inactive_file" : "total_inactive_file";
  const double used = ReadNumber(UsageFile(folder, version2)).value_or(0);
  return used - NumberAfter(stat, active) - NumberAfter(stat, inactive);
}

}  // namespace

Cgroup FindCgroup(std::string_view proc_cgroup, std::string_view mountinfo, std::string_view controller) {
  std::optional<std::string> group;
  Cgroup found{.folders = {}, .version2 = true};
  for (const std::string& line : Split(proc_cgroup, '\n')) {  // "4:memory:/a/b", "0::/a/b"
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (Contains(Split(controllers, ','), controller)) {
      group = line.substr(second + 1);
      found.version2 = false;
      break;
    }
    if (controllers.empty()) {
      group = line.substr(second + 1);
    }
  }
  const auto mount = group ? FindMount(mountinfo, controller, found.version2) : std::nullopt;
  if (!mount) {
    return found;
  }
  std::string relative = Below(*group, mount->root);
  while (true) {
    if (const std::string folder = mount->folder + relative; IsDirectory(folder)) {
      found.folders.push_back(folder);
    }
    if (relative.empty()) {
      return found;
    }
    relative.resize(relative.rfind('/') == std::string::npos ? 0 : relative.rfind('/'));
  }
}

Cgroup FindCgroup(pid_t pid, std::string_view controller) {
  const std::string process = "/proc/" + std::to_string(pid);
  const auto groups = ReadFile(process + "/cgroup");
  const auto mounts = ReadFile("/proc/self/mountinfo");
  return groups.ok() && mounts.ok() ? FindCgroup(*groups, *mounts, controller) : Cgroup{};
}

int64_t MemoryLimitBytes(const Cgroup& memory) {
  double tightest = kNoLimit;
  for (const std::string& folder : memory.folders) {
    tightest = std::min(tightest, FolderLimit(folder, memory.version2));
  }
  return tightest < kNoLimit ? static_cast<int64_t>(tightest) : 0;
}

double CpuQuota(const Cgroup& cpu) {
  double tightest = 0;
  for (const std::string& folder : cpu.folders) {
    const double quota = FolderQuota(folder, cpu.version2);
    if (quota > 0 && (tightest == 0 || quota < tightest)) {
      tightest = quota;
    }
  }
  return tightest;
}

std::optional<int64_t> MemoryLeftBytes(const Cgroup& memory) {
  std::optional<int64_t> least;
  for (const std::string& folder : memory.folders) {
    const double limit = FolderLimit(folder, memory.version2);
    if (limit < kNoLimit) {
      const auto left = static_cast<int64_t>(std::clamp(limit - HeldBytes(folder, memory.version2), 0.0, limit));
      least = std::min(least.value_or(left), left);
    }
  }
  return least;
}

std::string MemoryUsageFile(const Cgroup& memory) {
  for (const std::string& folder : memory.folders) {
    const std::string file = UsageFile(folder, memory.version2);
    if (FileExists(file)) {
      return file;
    }
  }
  return "";
}

}  // namespace assay::measure
