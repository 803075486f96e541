// The calls of one operation: many at a time, each with its retries, and a second copy of those that are slow.
#pragma once

#include <condition_variable>
#include <coroutine>
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

#include "base/task.h"
#include "storage/object_store.h"
#include "storage/transfer/call_engine.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

struct CallEntry;
struct CallFlight;

/// When an operation that begins now is given up (StoreOptions::deadline_seconds), on MonotonicSeconds(); 0: never.
double DeadlineOf(const StoreOptions& options);

/// Calls are sent from when they are added, on the store's thread, whether or not anybody waits for them.
class CallGroup {
 public:
  struct Limits {
    int in_flight = 1;
    CancelFlag cancel = nullptr;
    bool stop_at_failure = true;  ///< the first failed call ends all others
    double deadline = 0;          ///< of the operation, on MonotonicSeconds(); 0: as of one that begins now
    double linger_seconds = 0;    ///< once cancelled or late: what was sent may still be answered for so long
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
  /// Ends all calls soon, as if the first had failed.
  void GiveUp();

  /// Awaited by a task, one at a time: until fewer than `count` calls are unfinished; all, where one has failed that
  /// stops all, or where they were given up. Says why no more calls are sent.
  class Below {
   public:
    Below(CallGroup& group, int count) : group_(group), count_(count) {}
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> awaiting) {
      return group_.Suspend(count_, *awaiting.promise().executor, awaiting);
    }
    Status await_resume() const { return group_.status(); }

   private:
    CallGroup& group_;
    const int count_;
  };
  Below UntilBelow(int count) { return {*this, count}; }
  Below UntilDone() { return {*this, 1}; }
  /// Likewise, for threads but the store's.
  Status WaitAll();
  /// Why no more calls are sent; ok while they are.
  Status status();
  bool done();

 private:
  friend class CallEngine;
  using EntryList = std::list<std::unique_ptr<CallEntry>>;
  /// Who awaits Below.
  struct Awaiting {
    int count = 0;
    Executor* executor = nullptr;
    std::coroutine_handle<> task;
  };

  // Need mutex_.
  bool IsBelow(int count) const { return unfinished_ == 0 || (unfinished_ < count && stopped_.ok()); }
  /// False where it need not.
  bool Suspend(int count, Executor& executor, std::coroutine_handle<> task);
  /// Lets who awaits go on, if it may.
  void Tell();

  // For CallEngine; all but Hold() and LetGo() on the store's thread.
  /// The group is not gone before each Hold() has had its LetGo().
  void Hold();
  void LetGo();
  void Take(std::unique_ptr<StoreCall> call);
  void Landed(CallFlight* flight, http::Outcome outcome);
  bool has_calls() const { return !entries_.empty(); }
  bool can_launch() const { return !ready_.empty() && flights_ < limits_.in_flight; }
  int priority() const { return limits_.priority; }
  bool is_cancelled() const { return limits_.cancel != nullptr && limits_.cancel->load(std::memory_order_relaxed); }
  /// Gives up what was cancelled or is late.
  void EndWhereDue(double now);
  /// Does that, and makes what has waited for its next attempt ready.
  void Check(double now);
  void LaunchNext();
  /// Ends what is ready: there are no credentials.
  void FailUnsigned(const Status& why);
  void ReissueSlow(double now);
  double WakeAt() const;

  void Launch(CallEntry& entry, bool reissue);
  void Observe(const CallFlight& flight, const http::Outcome& outcome) const;
  void Decide(CallEntry& entry);
  void CorrectSigner(CallEntry& entry);
  void FailOrRetry(CallEntry& entry);
  void FailSigning(CallEntry& entry, const Status& why);
  void Finish(CallEntry& entry, const CallResult& result);
  /// `why`: without the name of a call, which is told of each.
  void EndAll(const Status& status, Failure why);
  void EndLate();

  const CallContext context_;
  Limits limits_;

  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;                      // guarded by mutex_
  int unfinished_ = 0;                // guarded by mutex_
  Status stopped_;                    // guarded by mutex_
  std::optional<Awaiting> awaiting_;  // guarded by mutex_

  // The rest belongs to the store's thread.
  std::mt19937_64 random_;
  EntryList entries_;
  std::deque<CallEntry*> ready_;
  std::vector<CallEntry*> delayed_;
  std::optional<CallResult> given_up_;  ///< the end of all calls that have none yet
  std::optional<std::list<CallGroup*>::iterator> listed_;
  std::optional<std::list<CallGroup*>::iterator> turn_;
  double due_at_ = 0;  ///< when it was first seen to be cancelled or late; 0: it is neither
  int flights_ = 0;
  int64_t launches_ = 0;
  int64_t reissues_ = 0;
  int large_ = 0;  ///< unfinished calls that may have a second copy
  double next_reissue_check_ = 0;
};

}  // namespace assay::storage
