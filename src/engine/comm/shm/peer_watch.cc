#include "engine/comm/shm/peer_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"

namespace assay::engine {
namespace {

/// The state letter of /proc/PID/stat, which follows the command's name in parentheses; ' ' when it cannot be read.
char state_letter(pid_t pid) {
  const Result<std::string> stat = ReadFile(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = stat.ok() ? stat->rfind(')') : std::string::npos;
  return name_end != std::string::npos && name_end + 2 < stat->size() ? (*stat)[name_end + 2] : ' ';
}

}  // namespace

PeerWatch::PeerWatch(std::vector<pid_t> pids, std::vector<int> job_ranks)
    : pids_(std::move(pids)), job_ranks_(std::move(job_ranks)) {
  for (const pid_t pid : pids_) {
    const bool own = pid == ::getpid();
    handles_.emplace_back(own ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
}

PeerState PeerWatch::state(int rank) const {
  if (pid(rank) == ::getpid()) {
    return PeerState::kAlive;
  }
  const FileDescriptor& handle = handles_[static_cast<size_t>(rank)];
  if (!handle.valid()) {  // ended before we could look, or a kernel without pidfds
    return FileExists(fmt::format("/proc/{}", pid(rank))) ? PeerState::kAlive : PeerState::kEnded;
  }
  pollfd ended{.fd = handle.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ended, 1, 0) > 0) {
    return PeerState::kEnded;
  }
  return state_letter(pid(rank)) == 'T' ? PeerState::kStopped : PeerState::kAlive;
}

std::string PeerWatch::name(int rank) const {
  return fmt::format("rank {} (process {})", job_rank(rank), pid(rank));
}

}  // namespace assay::engine
