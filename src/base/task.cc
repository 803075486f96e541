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
  const std::shared_ptr<Ready> ready = ready_;
  {
    const std::lock_guard lock(ready->mutex);
    ready->tasks.push_back(task);
  }
  // Not under the lock, for which who wakes up would have to wait again.
  ready->arrived.notify_one();
}

void WaitingThread::RunUntil(const bool& done) {
  while (!done) {
    std::unique_lock lock(ready_->mutex);
    ready_->arrived.wait(lock, [this] { return !ready_->tasks.empty(); });
    const std::coroutine_handle<> next = ready_->tasks.front();
    ready_->tasks.pop_front();
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
