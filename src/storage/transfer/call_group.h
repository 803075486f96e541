// The calls of one operation: many at a time, each with its retries, and a second copy of those that are slow.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "storage/object_store.h"
#include "storage/transfer/call_engine.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

struct CallEntry;
struct CallFlight;

/// Calls are sent from when they are added, on the store's thread, whether or not anybody waits for them.
class CallGroup {
 public:
  struct Limits {
    int in_flight = 1;
    CancelFlag cancel = nullptr;
    bool stop_at_failure = true;  ///< the first failed call ends all others
    double deadline = 0;          ///< on MonotonicSeconds(); 0: none
    int priority = 0;
  };

  CallGroup(const CallContext& context, Limits limits);
  /// Gives up what is on its way and waits until the client has let go of it. Not on the store's thread.
  ~CallGroup();
  CallGroup(const CallGroup&) = delete;
  CallGroup& operator=(const CallGroup&) = delete;

  /// From any thread, as the calls' own members may.
  void Add(std::unique_ptr<StoreCall> call);
  /// Runs `work` on the store's thread, soon. From any thread.
  void Post(std::function<void()> work);
  /// Waits until fewer than `count` calls are unfinished; all, where one has failed that stops all, or where they were
  /// given up. Not on the store's thread.
  Status WaitBelow(int count);
  Status WaitAll() { return WaitBelow(1); }
  /// Why no more calls are sent; ok while they are.
  Status status();

 private:
  friend class CallEngine;
  using EntryList = std::list<std::unique_ptr<CallEntry>>;

  // For CallEngine; all but Hold() and LetGo() on the store's thread.
  /// The group is not gone before each Hold() has had its LetGo().
  void Hold();
  void LetGo();
  void Take(std::unique_ptr<StoreCall> call);
  void Landed(CallFlight* flight, http::Outcome outcome);
  bool has_calls() const { return !entries_.empty(); }
  bool can_launch() const { return !ready_.empty() && flights_ < limits_.in_flight; }
  int priority() const { return limits_.priority; }
  /// Gives up what was cancelled or is late, and makes what has waited for its next attempt ready.
  void Check(double now);
  void LaunchNext();
  void ReissueSlow(double now);
  double WakeAt() const;

  void Launch(CallEntry& entry, bool reissue);
  void Observe(const CallFlight& flight, const http::Outcome& outcome) const;
  void Decide(CallEntry& entry);
  void CorrectSigner(CallEntry& entry);
  void FailOrRetry(CallEntry& entry);
  void Finish(CallEntry& entry, const CallResult& result);
  void FinishGivenUp(CallEntry& entry);
  /// `why`: without the name of a call, which is told of each.
  void GiveUp(const Status& status, Failure why);
  void GiveUpLate();

  const CallContext context_;
  Limits limits_;

  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;        // guarded by mutex_
  int unfinished_ = 0;  // guarded by mutex_
  Status stopped_;      // guarded by mutex_

  // The rest belongs to the store's thread.
  std::mt19937_64 random_;
  EntryList entries_;
  std::deque<CallEntry*> ready_;
  std::vector<CallEntry*> delayed_;
  std::optional<CallResult> given_up_;  ///< the end of all calls that have none yet
  std::optional<std::list<CallGroup*>::iterator> listed_;
  int flights_ = 0;
  int64_t launches_ = 0;
  int64_t reissues_ = 0;
  double next_reissue_check_ = 0;
};

}  // namespace assay::storage
