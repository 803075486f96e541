// Follows what explorations write into the store while they go on.
#pragma once

#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "samplestore/sample_store.h"
#include "serve/event_hub.h"
#include "serve/library.h"

namespace assay::serve {

/// What is going on, as one JSON object for all that look on: {"count", "others", "pieces"}, the pieces of the page
/// (report/html.h) of `count` explorations; `others`: how many more there are than one event holds, or that say other
/// things than this version knows. Of whom nothing was heard for longer than it is ever quiet that is said; of whom
/// nothing was heard for an hour is gone (only its own machine can take away what a killed process left). Not
/// thread-safe.
class LiveView {
 public:
  /// `now` in seconds.
  std::string Take(const std::vector<samplestore::Progress>& rows, double now);

 private:
  struct Heard {
    int64_t version = 0;
    double at = 0;
  };
  std::map<std::string, Heard> heard_;  ///< by operation
};

/// Reads the store over a connection of its own, so that a step is seen at once whatever else is read, and tells `hub`
/// of it as event "live". Problems of the store are told by who reads its measurements.
class LiveThread {
 public:
  LiveThread(StoreOpener open, EventHub& hub);
  ~LiveThread();

  /// Asks it to end, as the destructor does, which waits for it.
  void Stop();
  /// After Stop(): set once it has ended, which a store whose reads block delays.
  const std::future<void>& ended() const { return ended_; }

 private:
  void Run();
  Status Look();  ///< a problem of the store is what reading throws too: it does not end the thread
  Status Read();

  const StoreOpener open_;
  EventHub& hub_;
  LiveView view_;
  std::vector<samplestore::Progress> rows_;  ///< read last
  std::unique_ptr<samplestore::SampleStore> store_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  ///< guarded by mutex_
  std::packaged_task<void()> run_;
  std::future<void> ended_;
  std::thread thread_;  ///< last: begins when all else stands
};

}  // namespace assay::serve
