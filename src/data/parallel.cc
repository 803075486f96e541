#include "data/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace assay::data {

int UsableThreads() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(CPU_COUNT(&set), 1) : 1;
}

void ParallelFor(int64_t count, int threads, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) {
      body(i);
    }
  };
  std::vector<std::jthread> helpers;
  for (int i = 1; i < threads && i < count; ++i) {
    helpers.emplace_back(work);
  }
  work();
}

}  // namespace assay::data
