#include "http/server_pacer.h"

#include <algorithm>

namespace assay::http {
namespace {

// A timer that fires late must not cost bandwidth: so much unused time may be made up for.
constexpr double kCatchUpSeconds = 0.02;

}  // namespace

double Pacer::Book(int64_t bytes, double now) {
  const std::lock_guard lock(mutex_);
  const double start = std::max(free_at_, now - kCatchUpSeconds);
  free_at_ = start + static_cast<double>(bytes) / bytes_per_s_;
  return start;
}

}  // namespace assay::http
