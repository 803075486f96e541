// Which ranks of a job share a machine.
#pragma once

#include <string>
#include <vector>

#include "engine/comm/rank_environment.h"

namespace assay::engine {

/// What a rank tells of its machine. Ranks share one when system and group are equal.
struct HostIdentity {
  std::string build = {};    ///< of the program: ranks of different ones cannot work together
  std::string name = {};     ///< for people
  std::string system = {};   ///< the kernel and its namespaces: memory and loopback are within it
  std::string group = {};    ///< of ranks that were started together: several on one system count as several machines
  int local_world_size = 1;  ///< how many ranks it was told to share the machine with, itself among them
};

/// This process's machine, as torchrun's variables and the kernel tell.
HostIdentity own_host(const RankEnvironment& environment);
/// One text, for the rendezvous, and back.
std::string to_text(const HostIdentity& host);
HostIdentity parse_host(const std::string& text);

/// Machines are numbered by their first ranks. Immutable.
class HostMap {
 public:
  /// By rank. Throws CommError when ranks are of different builds, or share a machine with others than they were told.
  explicit HostMap(const std::vector<HostIdentity>& hosts);

  int machines() const { return static_cast<int>(ranks_of_.size()); }
  int machine_of(int rank) const { return machine_of_[static_cast<size_t>(rank)]; }
  const std::vector<int>& ranks_of(int machine) const { return ranks_of_[static_cast<size_t>(machine)]; }
  /// How many of them stand on the system of this rank's, itself among them: more than 1 where groups of ranks that one
  /// machine has are to work as several.
  int machines_on_system_of(int rank) const;
  /// Whether all machines are one for the network.
  bool one_system() const { return machines_on_system_of(0) == machines(); }
  /// "rank 3 of machine 1 (node7)", "machine 1 (node7: ranks 2 and 3)"; in a job of one machine "rank 3".
  std::string describe(const std::vector<int>& ranks) const;

 private:
  std::vector<int> machine_of_;
  std::vector<std::vector<int>> ranks_of_;
  std::vector<std::string> names_;    ///< by machine
  std::vector<std::string> systems_;  ///< by machine
};

/// "rank 3", "ranks 2 and 3", "ranks 2, 3 and 5"
std::string describe_ranks(const std::vector<int>& ranks);

}  // namespace assay::engine
