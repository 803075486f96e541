// Jobs shared among threads, whose results are wanted in the order in which they were given.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace assay {

/// `threads` threads, of which the one that waits for a job is one: with 1 all is done by the caller. Jobs must not
/// throw, and must not wait for others. The destructor drops what has not begun and waits for the rest.
class JobPool {
 public:
  explicit JobPool(int threads);
  ~JobPool();
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;

  void Post(std::function<void()> job);
  /// Does jobs on this thread until `done`, which jobs set and nobody else.
  void HelpUntil(const std::function<bool()>& done);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;         // a job came, or one ended
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_
  bool stopping_ = false;                   // guarded by mutex_
  std::vector<std::jthread> threads_;
};

/// The results of jobs of a pool, the oldest first. Belongs to one thread; the pool must outlive it.
template <typename T>
class InOrder {
 public:
  explicit InOrder(JobPool& pool) : pool_(pool) {}

  void Give(std::function<T()> job) {
    auto slot = std::make_shared<Slot>();
    slots_.push_back(slot);
    pool_.Post([slot, job = std::move(job)] {
      T result = job();
      const std::lock_guard lock(slot->mutex);
      slot->result.emplace(std::move(result));
    });
  }
  size_t size() const { return slots_.size(); }
  bool empty() const { return slots_.empty(); }
  /// Waits for the oldest, doing jobs meanwhile.
  T Take() {
    const std::shared_ptr<Slot> slot = std::move(slots_.front());
    slots_.pop_front();
    pool_.HelpUntil([&slot] { return slot->ready(); });
    return std::move(*slot->result);
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::optional<T> result;
    bool ready() {
      const std::lock_guard lock(mutex);
      return result.has_value();
    }
  };
  JobPool& pool_;
  std::deque<std::shared_ptr<Slot>> slots_;
};

}  // namespace assay
