// What this machine can do at best, apart from arithmetic: memory, disk and loopback. Results are held against these.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace assay::measure {

/// GB/s are 1e9 bytes that the program reads or writes; with plain stores the hardware may move more (write allocate).
struct MemoryBandwidth {
  double read_gb_per_s = 0;   ///< s += a[i]
  double copy_gb_per_s = 0;   ///< a[i] = b[i]
  double triad_gb_per_s = 0;  ///< a[i] = b[i] + s * c[i] (McCalpin's STREAM)
  int64_t array_bytes = 0;    ///< of each of the three arrays
  int64_t threads = 0;
  int64_t repetitions = 0;  ///< of each kernel; the best counts
  std::string method;       ///< one line: how the numbers were made
};

/// MiB/s of one file, written and read from one end to the other by one thread.
struct DiskSpeed {
  double write_mib_per_s = 0;  ///< creation, writing and fsync together
  double read_mib_per_s = 0;   ///< out of the page cache's reach
  int64_t file_bytes = 0;
  bool direct_read = false;  ///< by O_DIRECT; else after the cache was told to drop the file
  std::string folder;
  std::string method;
};

struct LoopbackSpeed {
  double throughput_gb_per_s = 0;  ///< one TCP connection to 127.0.0.1
  double round_trip_us = 0;        ///< median of one-byte request and answer
  int64_t bytes = 0;
  int64_t round_trips = 0;
  std::string method;
};

/// Each of these takes about `budget_seconds`, twice that at most on a slow machine.

/// `threads` 0: UsableCores(). `array_bytes` 0: four times the last-level caches, within what memory is free.
Result<MemoryBandwidth> MeasureMemoryBandwidth(double budget_seconds = 1.5, int64_t threads = 0,
                                               int64_t array_bytes = 0);
/// Writes a file into `folder` (made if missing) and removes it, whatever happens.
Result<DiskSpeed> MeasureDisk(const std::string& folder, double budget_seconds = 2.0);
Result<LoopbackSpeed> MeasureLoopback(double budget_seconds = 1.0);

}  // namespace assay::measure
