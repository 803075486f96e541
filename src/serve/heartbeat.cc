#include "serve/heartbeat.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"

namespace assay::serve {

Heartbeat::Heartbeat(EventHub& hub, ReaderThread& reader, Times times)
    : hub_(hub), reader_(reader), times_(times), thread_([this] { Run(); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Heartbeat::Run() {
  const std::chrono::duration<double> pause(std::min({1.0, times_.beat_seconds, times_.long_seconds}));
  double beat_at = MonotonicSeconds() + times_.beat_seconds;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return stop_; })) {
    reader_.TellOfLongRead(times_.long_seconds);
    if (const double now = MonotonicSeconds(); now >= beat_at) {
      hub_.Beat();
      beat_at = now + times_.beat_seconds;
    }
  }
}

}  // namespace assay::serve
