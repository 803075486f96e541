#include "base/parallel.h"

#include <sched.h>

namespace assay {

int UsableThreads() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return ::sched_getaffinity(0, sizeof(cores), &cores) == 0
             ? std::max(CPU_COUNT(&cores), 1)
             : std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace assay
