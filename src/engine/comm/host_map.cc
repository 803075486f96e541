#include "engine/comm/host_map.h"

#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>
#include <system_error>
#include <tuple>

#include "base/files.h"
#include "base/text.h"
#include "engine/comm/communicator.h"
#include "version.h"

namespace assay::engine {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

/// "pid:[4026531836]"; empty where the kernel does not say.
std::string own_namespace(const std::string& kind) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/" + kind, error).string();
}

void check_counts(const std::vector<HostIdentity>& hosts, const HostMap& map) {
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const std::vector<int>& together = map.ranks_of(map.machine_of(static_cast<int>(rank)));
    if (static_cast<int>(together.size()) != hosts[rank].local_world_size) {
      throw CommError(fmt::format(
          "rank {} was told of {} ranks on its machine (LOCAL_WORLD_SIZE), but {} are on {} of one group: start ranks "
          "with torchrun, or set LOCAL_WORLD_SIZE, and GROUP_RANK to a number for each machine",
          rank, hosts[rank].local_world_size, describe_ranks(together), hosts[rank].name));
    }
  }
}

void check_builds(const std::vector<HostIdentity>& hosts) {
  for (size_t rank = 1; rank < hosts.size(); ++rank) {
    if (hosts[rank].build != hosts.front().build) {
      throw CommError(fmt::format("rank {} on {} is assay-worker {}, rank 0 on {} is {}: start the same build on all",
                                  rank, hosts[rank].name, hosts[rank].build, hosts.front().name, hosts.front().build));
    }
  }
}

}  // namespace

HostIdentity own_host(const RankEnvironment& environment) {
  const Result<std::string> boot = ReadFile("/proc/sys/kernel/random/boot_id");
  const std::string kernel = boot.ok() ? boot->substr(0, boot->find('\n')) : "";
  // Launchers number ranks machine by machine.
  const int first = environment.rank - environment.local_rank;
  return {.build = fmt::format("{} (commit {}, libtorch {})", kVersion, kCommit, TORCH_VERSION),
          .name = host_name(),
          .system = Join({kernel, own_namespace("pid"), own_namespace("net")}, " "),
          .group = environment.group.empty() ? fmt::format("from {}", first) : environment.group,
          .local_world_size = environment.local_world_size};
}

std::string to_text(const HostIdentity& host) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", host.build, host.name, host.system, host.group, host.local_world_size);
}

HostIdentity parse_host(const std::string& text) {
  std::istringstream lines(text);
  HostIdentity host;
  std::getline(lines, host.build);
  std::getline(lines, host.name);
  std::getline(lines, host.system);
  std::getline(lines, host.group);
  lines >> host.local_world_size;
  return host;
}

HostMap::HostMap(const std::vector<HostIdentity>& hosts) {
  check_builds(hosts);
  std::map<std::tuple<std::string, std::string>, int> machines;
  for (const HostIdentity& host : hosts) {
    const auto [found, is_new] = machines.try_emplace({host.system, host.group}, this->machines());
    if (is_new) {
      ranks_of_.emplace_back();
      names_.push_back(host.name);
      systems_.push_back(host.system);
    }
    ranks_of_[static_cast<size_t>(found->second)].push_back(static_cast<int>(machine_of_.size()));
    machine_of_.push_back(found->second);
  }
  check_counts(hosts, *this);
}

int HostMap::machines_on_system_of(int rank) const {
  return static_cast<int>(std::ranges::count(systems_, systems_[static_cast<size_t>(machine_of(rank))]));
}

std::string HostMap::describe(const std::vector<int>& ranks) const {
  if (machines() == 1) {
    return describe_ranks(ranks);
  }
  std::vector<std::string> parts;
  for (int machine = 0; machine < machines(); ++machine) {
    const std::string& name = names_[static_cast<size_t>(machine)];
    std::vector<int> here;
    std::ranges::copy_if(ranks, std::back_inserter(here), [&](int rank) { return machine_of(rank) == machine; });
    if (here.size() == ranks_of(machine).size()) {
      parts.push_back(fmt::format("machine {} ({}: {})", machine, name, describe_ranks(here)));
    } else if (!here.empty()) {
      parts.push_back(fmt::format("{} of machine {} ({})", describe_ranks(here), machine, name));
    }
  }
  return Join(parts, " and ");
}

std::string describe_ranks(const std::vector<int>& ranks) {
  if (ranks.size() == 1) {
    return fmt::format("rank {}", ranks.front());
  }
  std::vector<std::string> before;
  std::transform(ranks.begin(), ranks.end() - 1, std::back_inserter(before),
                 [](int rank) { return fmt::format("{}", rank); });
  return fmt::format("ranks {} and {}", Join(before, ", "), ranks.back());
}

}  // namespace assay::engine
