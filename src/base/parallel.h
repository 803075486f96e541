// Work shared among a few short-lived threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"

namespace assay {

/// CPU threads that this process may use, by its affinity mask; at least 1.
int UsableThreads();

/// Calls `work(0)` to `work(count - 1)`, each once, in `threads` threads of which the caller's is one; returns when all
/// are done. `work` must not throw.
template <typename Work>
void ParallelFor(int64_t count, int threads, const Work& work) {
  std::atomic<int64_t> next{0};
  const auto run = [&] {
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      work(i);
    }
  };
  std::vector<std::jthread> helpers;
  for (int64_t i = 1; i < std::min<int64_t>(threads, count); ++i) {
    helpers.emplace_back(run);
  }
  run();
}

/// As ParallelFor(), of `work` that returns a Status: after the first failure, which is returned, none is begun any
/// more; those that have begun are waited for.
template <typename Work>
Status ParallelUntilFailure(int64_t count, int threads, const Work& work) {
  std::mutex mutex;
  Status failed;
  std::atomic<bool> is_over = false;
  ParallelFor(count, threads, [&](int64_t i) {
    if (is_over) {
      return;
    }
    Status done = work(i);
    const std::lock_guard lock(mutex);
    if (!done.ok() && !is_over.exchange(true)) {
      failed = std::move(done);
    }
  });
  return failed;
}

}  // namespace assay
