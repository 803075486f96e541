#include "measure/process_tree.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace assay::measure {

ProcessTree::Member::Member(pid_t pid) : stat_("/proc/" + std::to_string(pid) + "/stat") {
  has_clock_ = ::clock_getcpuclockid(pid, &clock_) == 0;
}

std::optional<ProcessStat> ProcessTree::Member::Read() {
  auto stat = ParseProcessStat(stat_.Read());
  if (!stat || !stat->lives()) {
    return std::nullopt;
  }
  // The stat file counts in ticks of 10 ms, too coarse for a sample of 100 ms; the process's clock counts nanoseconds.
  timespec time;
  if (has_clock_ && ::clock_gettime(clock_, &time) == 0) {
    stat->own_cpu_seconds = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  return stat;
}

ProcessTree::ProcessTree(std::vector<pid_t> roots) : roots_(std::move(roots)) {
  for (const pid_t root : roots_) {
    members_.emplace(root, Member(root));
  }
  FindDescendants();
}

bool ProcessTree::Refresh() {
  ProcessUse tree;
  bool root_lives = false;
  stopped_ = false;
  for (auto member = members_.begin(); member != members_.end();) {
    const auto stat = member->second.Read();
    if (!stat) {
      member = members_.erase(member);
      continue;
    }
    tree.cpu_seconds += stat->own_cpu_seconds + stat->children_cpu_seconds;
    tree.rss_bytes += stat->rss_bytes;
    const bool is_stopped = stat->state == 'T' || stat->state == 't';
    stopped_ = stopped_ || (is_stopped && std::ranges::find(roots_, member->first) != roots_.end());
    if (member->first == roots_.front()) {
      root_lives = true;
      root_use_ = {stat->own_cpu_seconds, stat->rss_bytes};
    }
    ++member;
  }
  if (root_lives) {
    tree_use_ = {std::max(tree.cpu_seconds, tree_use_.cpu_seconds), tree.rss_bytes};
  }
  return root_lives;
}

void ProcessTree::FindDescendants() {
  for (const pid_t root : roots_) {
    AddDescendants(root);
  }
}

void ProcessTree::AddDescendants(pid_t pid) {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task", error);
  for (auto thread = begin(threads); !error && thread != end(threads); thread.increment(error)) {
    const auto children = ReadFile(thread->path().string() + "/children");
    for (const std::string& child : children.ok() ? Split(Trim(*children), ' ') : std::vector<std::string>()) {
      const pid_t child_pid = std::atoi(child.c_str());
      members_.try_emplace(child_pid, child_pid);
      AddDescendants(child_pid);
    }
  }
}

}  // namespace assay::measure
