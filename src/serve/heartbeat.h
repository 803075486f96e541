// The signs of life of a server, whatever its store does.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "serve/event_hub.h"
#include "serve/reader_thread.h"

namespace assay::serve {

/// Gives signs of life, and says when a read of the store takes long. Reads nothing itself: a store that blocks, a disk
/// of another machine or a server that hangs, holds it up for nobody.
class Heartbeat {
 public:
  struct Times {
    double beat_seconds = 15;  ///< between two signs of life
    double long_seconds = 10;  ///< of a read of which is told
  };

  /// Both must outlive it.
  Heartbeat(EventHub& hub, ReaderThread& reader, Times times);
  ~Heartbeat();

 private:
  void Run();

  EventHub& hub_;
  ReaderThread& reader_;
  const Times times_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;   ///< guarded by mutex_
  std::thread thread_;  ///< last: begins when all else stands
};

}  // namespace assay::serve
