// Work shared among a few short-lived threads.
#pragma once

#include <cstdint>
#include <functional>

namespace assay::data {

/// CPU threads that the process may use.
int UsableThreads();

/// Calls `body(0)` to `body(count - 1)`, each once, in `threads` threads of which the caller's is one; returns when all
/// are done. `body` must not throw.
void ParallelFor(int64_t count, int threads, const std::function<void(int64_t)>& body);

}  // namespace assay::data
