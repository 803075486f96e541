// The thread of a store that sends its calls: those of all operations share its connections.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "http/client.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

class CallGroup;    // storage/transfer/call_group.h
struct CallFlight;  // storage/transfer/call_group.h

/// Retries, second copies of slow requests and what is to be sent next go on here whatever the callers do. Of all calls
/// that could be sent, those of the groups with the highest priority are, group by group in turn, so that a large
/// object has no more of the connections than a small one beside it. All groups must be gone before it is.
class CallEngine {
 public:
  /// Beyond `connections`, for single calls: they do not wait behind parts of large objects.
  static constexpr int kSingleConnections = 4;
  /// Of single calls; groups of parts have less.
  static constexpr int kSinglePriority = 1 << 20;

  /// `connections`: calls on their way at a time, of all groups.
  explicit CallEngine(int connections) : connections_(connections) {}
  ~CallEngine();
  CallEngine(const CallEngine&) = delete;
  CallEngine& operator=(const CallEngine&) = delete;

 private:
  friend class CallGroup;

  /// Something for a group, which holds it until it is taken: an answer, a call, or a piece of work.
  struct Event {
    CallGroup* group = nullptr;
    CallFlight* flight = nullptr;  ///< with `outcome`
    http::Outcome outcome{};
    std::unique_ptr<StoreCall> call{};
    std::function<void()> work{};
  };

  /// From any thread; starts the store's thread with the first. Events of a thread arrive in order.
  void Push(Event event);

  void Run();
  void WaitForEvents();
  void Take(Event event);
  /// Groups are listed while they have calls that have not ended.
  void List(CallGroup& group);
  CallGroup* NextToLaunch();
  void Serve();

  const int connections_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Event> inbox_;  // guarded by mutex_
  bool stopping_ = false;    // guarded by mutex_
  std::thread thread_;       // guarded by mutex_ until the destructor

  // The rest belongs to the thread.
  std::deque<Event> batch_;
  std::list<CallGroup*> groups_;  ///< the one whose turn is next first
  int flights_ = 0;               ///< of all groups
  double corrected_ = 0;          ///< when credentials or clock were last corrected
  double wake_at_ = 0;
};

}  // namespace assay::storage
