#include "base/task.h"

namespace assay {
namespace {

DetachedTask RunDetached(Task<void> task) {
  co_await std::move(task);
}

}  // namespace

void Spawn(Executor& executor, Task<void> task) {
  const DetachedTask root = RunDetached(std::move(task));
  root.frame.promise().executor = &executor;
  executor.Post(root.frame);
}

void WaitingThread::Post(std::coroutine_handle<> task) {
  // Told while the lock is held: who waits goes on, and ends this, only after that.
  const std::lock_guard lock(mutex_);
  ready_.push_back(task);
  arrived_.notify_one();
}

void WaitingThread::RunUntil(const bool& done) {
  while (!done) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !ready_.empty(); });
    const std::coroutine_handle<> next = ready_.front();
    ready_.pop_front();
    lock.unlock();
    next.resume();
  }
}

WorkerThreads::~WorkerThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void WorkerThreads::Post(std::coroutine_handle<> task) {
  const std::lock_guard lock(mutex_);
  ready_.push_back(task);
  if (!stopping_ && idle_ < ready_.size() && threads_.size() < most_) {
    threads_.emplace_back([this] { Work(); });
  } else {
    arrived_.notify_one();
  }
}

void WorkerThreads::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    arrived_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    --idle_;
    if (ready_.empty()) {
      return;
    }
    const std::coroutine_handle<> next = ready_.front();
    ready_.pop_front();
    lock.unlock();
    next.resume();
    lock.lock();
  }
}

}  // namespace assay
