// Sends many requests of a store at a time, each with its retries, and a second copy of those that are slow.
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
#include <string_view>
#include <utility>
#include <vector>

#include "http/client.h"
#include "storage/auth/signer.h"
#include "storage/object_store.h"
#include "storage/options.h"
#include "storage/transfer/dialect.h"
#include "storage/transfer/latency_tracker.h"
#include "storage/transfer/observer.h"
#include "storage/transfer/retry.h"

namespace assay::storage {

/// What the calls of a store share. Not owned.
struct CallContext {
  http::Client* client = nullptr;
  Signer* signer = nullptr;
  const Dialect* dialect = nullptr;
  const StoreOptions* options = nullptr;
  RetryBudget* budget = nullptr;
  LatencyTracker* latencies = nullptr;
  RequestObserver* observer = nullptr;  ///< may be null
};

/// One try of a call. Everything in it lives until the client has let go of it.
struct Attempt {
  int number = 1;
  bool reissue = false;  ///< beside another attempt that is slow: it must not write where that one may
  Outgoing outgoing;
  std::unique_ptr<ChecksumSource> body;
  std::unique_ptr<http::BodySink> sink;
  /// What a sink had against the answer, when it refused it.
  std::optional<Failure> refusal;
};

struct CallResult {
  Status status;
  std::optional<Failure> failure;  ///< set with an error
  int attempts = 1;                ///< that `failure` is the end of
};

/// A request with what happens to its answer. Its members are called on the thread that drives the runner.
class StoreCall {
 public:
  virtual ~StoreCall() = default;
  /// Reads on after "cannot": "get bytes 0 to 8388607 of".
  virtual std::string operation() const = 0;
  virtual const std::string& key() const = 0;
  /// Fills `outgoing`, and `body` and `sink` as needed. Called for each attempt.
  virtual void Prepare(Attempt& attempt) = 0;
  /// A 2xx came and no other attempt of the call is on its way any more. A failure may lead to another attempt.
  virtual std::optional<Failure> Accept(Attempt& attempt, http::Response& response) = 0;
  /// Once, at the end.
  virtual void Done(const CallResult& result) {}
  /// Set for calls that move much: a slow one is sent a second time.
  virtual std::optional<std::pair<Direction, int64_t>> volume() const { return std::nullopt; }
};

/// Belongs to one thread, which drives it: nothing is sent or accepted but within RunUntil(), except Post().
class CallRunner {
 public:
  struct Limits {
    int in_flight = 1;
    CancelFlag cancel = nullptr;
    bool stop_at_failure = true;  ///< the first failed call ends all others
    double deadline = 0;          ///< on MonotonicSeconds(); 0: none
  };

  CallRunner(const CallContext& context, Limits limits);
  /// Gives up what is on its way and waits until the client has let go of it.
  ~CallRunner();
  CallRunner(const CallRunner&) = delete;
  CallRunner& operator=(const CallRunner&) = delete;

  void Add(std::unique_ptr<StoreCall> call);
  int unfinished() const { return static_cast<int>(entries_.size()); }
  /// Drives until fewer than `count` calls are unfinished, or one has failed where that stops all.
  Status RunBelow(int count);
  Status RunAll() { return RunBelow(1); }
  /// Runs `work` on the driving thread, soon. May be called from any thread.
  void Post(std::function<void()> work);

 private:
  struct Flight;
  struct Entry;
  using EntryList = std::list<std::unique_ptr<Entry>>;
  struct Event {
    Flight* flight = nullptr;  ///< null: `work`
    http::Outcome outcome;
    std::function<void()> work;
  };

  void LaunchReady();
  void Launch(Entry& entry, bool reissue);
  void Push(Event event);
  void WaitForEvents(int count);
  double WaitSeconds() const;
  void TakeEvents();
  void Landed(Flight* flight, http::Outcome outcome);
  void Observe(const Flight& flight, const http::Outcome& outcome) const;
  void Decide(Entry& entry);
  void CorrectSigner(Entry& entry);
  void FailOrRetry(Entry& entry);
  void Finish(Entry& entry, CallResult result);
  void ReissueSlow();
  bool GiveUpIfStopped();
  /// `why`: without the name of a call, which is told of each.
  void GiveUp(Status status, Failure why);

  CallContext context_;
  Limits limits_;
  std::mt19937_64 random_;
  EntryList entries_;
  std::deque<Entry*> ready_;
  std::vector<Entry*> delayed_;
  int flights_ = 0;
  int64_t launches_ = 0;
  int64_t reissues_ = 0;
  double corrected_ = 0;  ///< when credentials or clock were last corrected
  double next_reissue_check_ = 0;
  std::deque<Event> batch_;
  Status stopped_;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Event> inbox_;  // guarded by mutex_
};

}  // namespace assay::storage
