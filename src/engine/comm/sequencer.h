// Runs the collectives of one rank in call order.
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "engine/comm/communicator.h"

namespace assay::engine {

/// Either a thread of its own, or none: then tasks run at once, on the caller's.
class Sequencer {
 public:
  explicit Sequencer(bool own_thread);
  Sequencer(const Sequencer&) = delete;
  Sequencer& operator=(const Sequencer&) = delete;
  /// Waits for what is queued.
  ~Sequencer();

  /// Queues `task`. The Work's wait() throws what the task threw.
  WorkPtr run(std::packaged_task<void()> task);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<void()>> queue_;  // protected by mutex_
  bool closing_ = false;                          // protected by mutex_
  std::thread thread_;
};

}  // namespace assay::engine
