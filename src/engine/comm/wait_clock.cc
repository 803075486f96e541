#include "engine/comm/wait_clock.h"

namespace assay::engine {

void WaitClock::enter(double now) {
  const std::lock_guard lock(mutex_);
  if (depth_++ == 0) {
    since_ = now;
  }
}

void WaitClock::leave(double now) {
  const std::lock_guard lock(mutex_);
  if (--depth_ == 0) {
    total_ += now - since_;
  }
}

double WaitClock::waited(double now) const {
  const std::lock_guard lock(mutex_);
  return total_ + (depth_ > 0 ? now - since_ : 0);
}

}  // namespace assay::engine
