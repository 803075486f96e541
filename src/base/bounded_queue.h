// A queue between threads that holds only so much: who puts waits while it is full, who takes while it is empty.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace assay {

/// Every member may be called from any thread.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  /// False where it was closed or stopped: the item is dropped.
  bool Put(T item) {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
    if (closed_) {
      return false;
    }
    items_.push_back(std::move(item));
    lock.unlock();
    came_.notify_one();
    return true;
  }

  /// Nothing once it is closed and empty.
  std::optional<T> Take() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return closed_ || !items_.empty(); });
    if (items_.empty()) {
      return std::nullopt;
    }
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    const bool half_empty = items_.size() == capacity_ / 2;
    lock.unlock();
    // To wake who waits for room for each item would cost more than many an item.
    if (half_empty) {
      left_.notify_all();
    }
    return item;
  }

  /// Nothing more is put; what it holds can still be taken.
  void Close() { End(false); }
  /// Nothing is put or taken any more.
  void Stop() { End(true); }

 private:
  void End(bool drop) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (drop) {
        items_.clear();
      }
    }
    came_.notify_all();
    left_.notify_all();
  }

  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::condition_variable left_;
  std::deque<T> items_;  // guarded by mutex_
  bool closed_ = false;  // guarded by mutex_
};

}  // namespace assay
