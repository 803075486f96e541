// One I/O thread of a client: takes what other threads ask for and lets an engine carry it out.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "http/engine.h"

namespace assay::http {

/// Members may be called from any thread, but Stop() not from a callback. The thread starts with the first
/// transfer.
class IoThread {
 public:
  /// `max_transfers`: in progress; those beyond wait their turn.
  IoThread(std::unique_ptr<Engine> engine, int max_transfers);
  ~IoThread() { Stop(); }

  /// Cancels what is in progress, and whatever is submitted from now on; every callback has run when it returns.
  void Stop();
  void Submit(Job job);
  void Cancel(TransferId id);

 private:
  void WakeLocked();
  void Run();
  bool TakeCommands();
  void CancelOne(TransferId id);
  void BeginWaiting();

  const size_t max_transfers_;

  std::mutex mutex_;
  std::deque<Job> submitted_;        // guarded by mutex_
  std::vector<TransferId> cancels_;  // guarded by mutex_
  bool stopping_ = false;            // guarded by mutex_
  bool woken_ = false;               // guarded by mutex_
  std::thread thread_;               // guarded by mutex_ until Stop()

  // The rest belongs to the thread.
  std::unique_ptr<Engine> engine_;
  std::deque<Job> waiting_;
};

}  // namespace assay::http
