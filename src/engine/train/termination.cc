#include "engine/train/termination.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "base/status.h"

namespace assay::engine {
namespace {

sigset_t termination_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

TerminationWatcher::TerminationWatcher(EventWriter& events) : events_(events) {
  const sigset_t signals = termination_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([this] { wait_for_signal(); }).detach();
}

void TerminationWatcher::wait_for_signal() {
  const sigset_t signals = termination_signals();
  int signal = 0;
  sigwait(&signals, &signal);
  const auto lock = defer();
  job::Ended ended;
  ended.kind = job::EndKind::kError;
  ended.reason = fmt::format("interrupted by {}", signal == SIGINT ? "SIGINT" : "SIGTERM");
  events_.write_last(ended);
  if (last_work_) {
    last_work_();
  }
  std::fflush(stderr);
  ::_exit(ExitCode(Status::Aborted(ended.reason)));
}

}  // namespace assay::engine
