// Which rank this process is, as torchrun tells its workers.
#pragma once

#include <string>

#include "base/status.h"

namespace assay::engine {

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;        ///< among the ranks of this machine
  int local_world_size = 1;  ///< ranks of this machine
  std::string address;       ///< where ranks meet
  int port = 0;
  std::string group;             ///< GROUP_RANK: which of the launcher's agents started it; empty: not known
  std::string job;               ///< TORCHELASTIC_RUN_ID; empty: not named
  std::string restart = "0";     ///< TORCHELASTIC_RESTART_COUNT
  bool store_is_served = false;  ///< torchrun's agent serves the store at the port; else rank 0 does

  bool one_machine() const { return local_world_size == world_size; }
};

/// Reads RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and what torchrun adds to them;
/// one rank when the first two are not set. An error names the variable that is wrong.
Result<RankEnvironment> read_rank_environment();

}  // namespace assay::engine
