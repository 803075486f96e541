// The thread of a store that sends its calls: those of all operations share its connections.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "http/client.h"
#include "storage/auth/signer.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

class CallGroup;    // storage/transfer/call_group.h
struct CallFlight;  // storage/transfer/call_group.h

/// Retries, second copies of slow requests and what is to be sent next go on here whatever the callers do. Of all calls
/// that could be sent, those of the groups with the highest priority are, group by group in turn, so that a large
/// object has no more of the connections than a small one beside it. What an event costs does not grow with the number
/// of groups. Credentials are fetched on a thread of their own; calls wait for them only where there are none that
/// serve. All groups must be gone before it is.
class CallEngine {
 public:
  /// Beyond `connections`, for single calls: they do not wait behind parts of large objects.
  static constexpr int kSingleConnections = 4;
  /// Of single calls; groups of parts have less.
  static constexpr int kSinglePriority = 1 << 20;

  /// `connections`: calls on their way at a time, of all groups. `signer` must outlive it.
  CallEngine(int connections, Signer& signer) : connections_(connections), signer_(signer) {}
  ~CallEngine();
  CallEngine(const CallEngine&) = delete;
  CallEngine& operator=(const CallEngine&) = delete;

 private:
  friend class CallGroup;
  using Turns = std::list<CallGroup*>;

  /// Something for a group, which holds it until it is taken: an answer, a call, or a piece of work. Or, for no group,
  /// how fetching credentials ended.
  struct Event {
    CallGroup* group = nullptr;
    CallFlight* flight = nullptr;  ///< with `outcome`
    http::Outcome outcome{};
    std::unique_ptr<StoreCall> call{};
    std::function<void()> work{};
    std::optional<Status> prepared{};
  };

  /// What Push() still uses when the thread has taken the event and the store has ended.
  struct Inbox {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Event> events;  // guarded by mutex
    bool stopping = false;     // guarded by mutex
  };

  /// From any thread; starts the store's thread with the first. Events of a thread arrive in order.
  void Push(Event event);

  void Run();
  void WaitForEvents();
  void Take(Event event);
  /// After something has happened to a group: it is listed while it has calls that have not ended, and has its turn
  /// while it may send one.
  void Update(CallGroup& group);
  void Serve();
  /// Looks after what goes by time: cancellations, deadlines, waits, slow calls.
  void Sweep(double now);
  CallGroup* NextToLaunch();
  /// False while calls have to wait for credentials.
  bool HasCredentials();
  void FetchCredentials();
  void TakeCredentials(const Status& prepared);

  const int connections_;
  Signer& signer_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::thread thread_;  // guarded by the inbox's mutex until the destructor

  // The rest belongs to the thread.
  std::deque<Event> batch_;
  std::list<CallGroup*> groups_;
  std::map<int, Turns, std::greater<>> turns_;  ///< of those that may send a call, by priority; next first
  std::thread fetching_;                        ///< of credentials, while it runs
  bool just_prepared_ = false;                  ///< what waited for credentials is sent with those that came
  int flights_ = 0;                             ///< of all groups
  double corrected_ = 0;                        ///< when credentials or clock were last corrected
  double wake_at_ = 0;                          ///< when the next sweep is due
};

}  // namespace assay::storage
