// One task at a time for each key; the others wait without holding a thread.
#pragma once

#include <coroutine>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/task.h"

namespace assay::storage {

/// Any thread may call. Must outlive its turns, as must their keys.
class KeyTurns {
 public:
  /// Ends with its destructor, and the one that has waited longest begins.
  class Turn {
   public:
    Turn(KeyTurns& turns, const std::string& key) : turns_(turns), key_(key) {}
    ~Turn() { turns_.End(key_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    KeyTurns& turns_;
    const std::string& key_;
  };

  struct Awaiter {
    KeyTurns& turns;
    const std::string& key;
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> task) {
      return turns.MustWait(key, {task.promise().executor, task});
    }
    Turn await_resume() const { return {turns, key}; }
  };
  /// Awaited within a task.
  Awaiter Take(const std::string& key) { return {*this, key}; }

 private:
  struct Waiting {
    Executor* executor;
    std::coroutine_handle<> task;
  };

  bool MustWait(const std::string& key, Waiting task) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_first] = waiting_.try_emplace(key);
    if (!is_first) {
      at->second.push_back(task);
    }
    return !is_first;
  }
  void End(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(key);
    if (found->second.empty()) {
      waiting_.erase(found);
      return;
    }
    const Waiting next = found->second.front();
    found->second.pop_front();
    next.executor->Post(next.task);
  }

  std::mutex mutex_;
  std::map<std::string, std::deque<Waiting>> waiting_;  ///< by the keys that have a turn; guarded by mutex_
};

}  // namespace assay::storage
