#include "engine/comm/sequencer.h"

#include <utility>

namespace assay::engine {
namespace {

class TaskWork final : public Work {
 public:
  explicit TaskWork(std::shared_future<void> done) : done_(std::move(done)) {}
  ~TaskWork() override { done_.wait(); }

  void wait() override { done_.get(); }

 private:
  std::shared_future<void> done_;
};

}  // namespace

Sequencer::Sequencer(bool own_thread) {
  if (own_thread) {
    thread_ = std::thread([this] { serve(); });
  }
}

Sequencer::~Sequencer() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
}

WorkPtr Sequencer::run(std::packaged_task<void()> task) {
  auto work = std::make_unique<TaskWork>(task.get_future().share());
  if (!thread_.joinable()) {
    task();
    return work;
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  wake_.notify_one();
  return work;
}

void Sequencer::serve() {
  while (true) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) {
      return;
    }
    std::packaged_task<void()> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task();
  }
}

}  // namespace assay::engine
