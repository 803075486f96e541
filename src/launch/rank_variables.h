// The environment by which a worker knows its rank.
#pragma once

#include <map>
#include <string>

#include "base/status.h"

namespace assay::launch {

/// Where the ranks of one job meet.
struct MeetingPlace {
  int port = 0;
  std::string job;  ///< random: a rank of another job is refused there
  std::string host = "127.0.0.1";
};

/// A free TCP port of the loopback interface, and a new job.
Result<MeetingPlace> ChooseMeetingPlace();

/// RANK, LOCAL_RANK, GROUP_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and TORCHELASTIC_RUN_ID as
/// torchrun sets them for rank `rank` of `ranks` on `nodes` machines with equally many.
std::map<std::string, std::string> RankVariables(const MeetingPlace& place, int rank, int ranks, int nodes);

/// CPU threads for each of `ranks` ranks: an equal share of the cores that this process may use, one at least.
int ThreadsPerRank(int ranks);

}  // namespace assay::launch
