// Writes what an exploration is doing into its store, for servers and hosts that share it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "explore/explore.h"
#include "explore/live_state.h"
#include "samplestore/sample_store.h"

namespace assay::explore {

/// Nothing that is measured waits for it: a thread writes the state as it is by then, a few times a second while it
/// changes. A store that cannot take it now is written to again later, and nobody is told: the measurements say so
/// where it matters.
class LiveWriter {
 public:
  /// `store` must outlive it.
  LiveWriter(samplestore::SampleStore& store, std::string operation_uid, std::string owner, LiveState state);
  /// Takes the state out of the store.
  ~LiveWriter();

  /// `callbacks`, and what they tell is written. They must not be called once this is gone.
  ExploreCallbacks Watching(ExploreCallbacks callbacks);

 private:
  void Run();
  template <typename Change>
  void Note(const Change& change);

  samplestore::SampleStore& store_;
  const std::string operation_uid_;
  const std::string owner_;
  std::mutex mutex_;
  std::condition_variable wake_;
  LiveState state_;      ///< guarded by mutex_
  bool changed_ = true;  ///< guarded by mutex_
  bool stop_ = false;    ///< guarded by mutex_
  std::thread thread_;   ///< last: begins when all else stands
};

}  // namespace assay::explore
