#include "launch/rank_variables.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/file_descriptor.h"
#include "base/parallel.h"
#include "base/text.h"

namespace assay::launch {

Result<MeetingPlace> ChooseMeetingPlace() {
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!listener.valid() || ::bind(listener.get(), generic, size) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0) {
    return ErrnoStatus(errno, "find a free port at", "127.0.0.1");
  }
  return MeetingPlace{.port = ntohs(address.sin_port), .job = RandomUid()};
}

std::map<std::string, std::string> RankVariables(const MeetingPlace& place, int rank, int ranks, int nodes) {
  const int local_ranks = ranks / nodes;
  return {{"RANK", std::to_string(rank)},
          {"LOCAL_RANK", std::to_string(rank % local_ranks)},
          {"GROUP_RANK", std::to_string(rank / local_ranks)},
          {"WORLD_SIZE", std::to_string(ranks)},
          {"LOCAL_WORLD_SIZE", std::to_string(local_ranks)},
          {"MASTER_ADDR", place.host},
          {"MASTER_PORT", std::to_string(place.port)},
          {"TORCHELASTIC_RUN_ID", place.job},
          {"TORCHELASTIC_RESTART_COUNT", "0"},
          {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
}

int ThreadsPerRank(int ranks) {
  return std::max(1, UsableThreads() / ranks);
}

}  // namespace assay::launch
