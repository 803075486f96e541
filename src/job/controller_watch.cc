#include "job/controller_watch.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/status.h"
#include "job/lifeline.h"

namespace assay::job {

void EndWithController() {
  if (std::getenv(kLifelineVariable) == nullptr) {
    return;
  }
  // The signal comes when the thread that started us ends, which is also when the controller does. One that ended
  // before this call has closed the pipe.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::thread([] {
    char byte = 0;
    ssize_t count = 0;
    do {
      count = ::read(STDIN_FILENO, &byte, 1);
    } while (count > 0 || (count < 0 && errno == EINTR));
    ::_exit(ExitCode(Status::Aborted("")));
  }).detach();
}

}  // namespace assay::job
