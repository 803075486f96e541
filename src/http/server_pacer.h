// Bandwidth as a server models it.
#pragma once

#include <cstdint>
#include <mutex>

namespace assay::http {

/// A pipe of fixed bandwidth. Callers book bytes and wait for their slot; slots are given first come, first served.
/// Thread-safe.
class Pacer {
 public:
  explicit Pacer(double bytes_per_s) : bytes_per_s_(bytes_per_s) {}

  /// The time (monotonic seconds) at which `bytes` booked at `now` may move; at most `now` when the pipe is free.
  double Book(int64_t bytes, double now);
  double bytes_per_s() const { return bytes_per_s_; }

 private:
  const double bytes_per_s_;
  std::mutex mutex_;
  double free_at_ = 0;
};

}  // namespace assay::http
