// Settings that hold for every kind of communicator between processes.
#pragma once

#include <cstdint>

namespace assay::engine {

/// Where a rank's collectives run.
enum class Execution {
  kAuto,    ///< on a thread of their own where the rank has more than one core, else as kCaller
  kThread,  ///< on a thread of their own: they go on beside the caller
  kCaller,  ///< at once, on the thread that calls
};

struct CommOptions {
  /// How long a rank waits for the others to come when the job starts: machines may be given out one by one.
  double start_seconds = 300;
  /// How long a rank waits for another within one collective before it gives the run up. Time in which this process
  /// was stopped itself does not count.
  double deadline_seconds = 60;
  /// The same for a rank whose process is seen stopped (SIGSTOP) all the while.
  double stopped_seconds = 10;
  Execution execution = Execution::kAuto;
  /// Shared memory that a rank may allocate at most; 0: as much as the machine has. It costs nothing until used.
  int64_t arena_bytes = 0;
};

}  // namespace assay::engine
