#include <csignal>

#include "base/subprocess.h"

namespace assay {
namespace {

volatile std::sig_atomic_t g_interrupt_requested = 0;

void OnInterrupt(int signal) {
  if (g_interrupt_requested != 0 && signal == SIGINT) {
    // The signal is blocked here, so it ends the program when this handler returns.
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  g_interrupt_requested = 1;
}

}  // namespace

void InstallInterruptHandler() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_RESTART;  // poll and sleeps return all the same
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  ::sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) {  // nohup
    ::sigaction(SIGHUP, &action, nullptr);
  }
}

bool InterruptRequested() {
  return g_interrupt_requested != 0;
}

}  // namespace assay
