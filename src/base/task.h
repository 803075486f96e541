// Work that waits for others without holding a thread: coroutines, and who runs them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace assay {

/// Runs tasks that can go on. All members may be called from any thread.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Resumes it soon, on a thread of this.
  virtual void Post(std::coroutine_handle<> task) = 0;
};

/// What every task's promise holds. A task runs on the executor of the one that awaits it.
struct TaskPromise {
  Executor* executor = nullptr;
  std::coroutine_handle<> awaiting;
  /// By whoever comes second: the task's end, or its awaiting one, which suspends itself only where it comes first.
  std::atomic<bool> met = false;
  std::exception_ptr failed;

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct Finally {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      return ended.promise().met.exchange(true) ? ended.promise().awaiting : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  Finally final_suspend() noexcept { return {}; }
  void unhandled_exception() { failed = std::current_exception(); }
};

template <typename T>
class Task;

template <typename T>
struct TaskResult : TaskPromise {
  std::optional<T> value;

  Task<T> get_return_object();
  void return_value(T result) { value.emplace(std::move(result)); }
  T Take() {
    if (failed) {
      std::rethrow_exception(failed);
    }
    return std::move(*value);
  }
};

template <>
struct TaskResult<void> : TaskPromise {
  Task<void> get_return_object();
  void return_void() {}
  void Take() {
    if (failed) {
      std::rethrow_exception(failed);
    }
  }
};

/// A coroutine that begins when it is awaited, once, by another one, or is given to RunHere() or Spawn(). What it was
/// given by reference must live until it has ended.
template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = TaskResult<T>;

  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (frame_) {
      frame_.destroy();
    }
  }

  struct Awaiter {
    std::coroutine_handle<promise_type> frame;
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> awaiting) noexcept {
      frame.promise().executor = awaiting.promise().executor;
      frame.promise().awaiting = awaiting;
      // What ends without waiting for anybody goes on here: a loop over such tasks must not pile up on the stack.
      frame.resume();
      return !frame.promise().met.exchange(true);
    }
    T await_resume() { return frame.promise().Take(); }
  };
  Awaiter operator co_await() && noexcept { return {frame_}; }

 private:
  std::coroutine_handle<promise_type> frame_;
};

template <typename T>
Task<T> TaskResult<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskResult<T>>::from_promise(*this));
}
inline Task<void> TaskResult<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskResult<void>>::from_promise(*this));
}

/// The outermost coroutine of a task: it belongs to nobody and is gone when it has ended.
struct DetachedTask {
  struct promise_type : TaskPromise {
    DetachedTask get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> frame;
};

/// Begins a task on `executor`, which must outlive it. Nobody is told of its end, nor of an exception, which ends the
/// program.
void Spawn(Executor& executor, Task<void> task);

/// One thread, that waits for the end of a task and runs it meanwhile.
class WaitingThread : public Executor {
 public:
  void Post(std::coroutine_handle<> task) override;
  /// Until `done`, which a task of this sets.
  void RunUntil(const bool& done);

 private:
  /// What Post() still uses when the task has gone on and ended this.
  struct Ready {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<std::coroutine_handle<>> tasks;  // guarded by mutex
  };
  const std::shared_ptr<Ready> ready_ = std::make_shared<Ready>();
};

/// Runs `task` and what it awaits on this thread, and returns what it returns.
template <typename T>
T RunHere(Task<T> task) {
  struct Outcome {
    std::optional<T> value;
    std::exception_ptr failed;
    bool done = false;
  } outcome;
  // The parameters of a coroutine live in its frame.
  const auto drive = [](Task<T> driven, Outcome& end) -> DetachedTask {
    try {
      end.value.emplace(co_await std::move(driven));
    } catch (...) {
      end.failed = std::current_exception();
    }
    end.done = true;
  };
  WaitingThread thread;
  const DetachedTask root = drive(std::move(task), outcome);
  root.frame.promise().executor = &thread;
  root.frame.resume();
  thread.RunUntil(outcome.done);
  if (outcome.failed) {
    std::rethrow_exception(outcome.failed);
  }
  return std::move(*outcome.value);
}

inline void RunHere(Task<void> task) {
  RunHere([](Task<void> whole) -> Task<bool> {
    co_await std::move(whole);
    co_return true;
  }(std::move(task)));
}

/// So many threads at most, started when there is work. The destructor waits for what was posted.
class WorkerThreads : public Executor {
 public:
  explicit WorkerThreads(int most) : most_(static_cast<size_t>(most)) {}
  ~WorkerThreads() override;
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  void Post(std::coroutine_handle<> task) override;

 private:
  void Work();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::coroutine_handle<>> ready_;  // guarded by mutex_
  size_t idle_ = 0;                            // guarded by mutex_
  bool stopping_ = false;                      // guarded by mutex_
  std::vector<std::thread> threads_;           // guarded by mutex_ until the destructor
};

}  // namespace assay

/// As ASSAY_RETURN_IF_ERROR and ASSAY_ASSIGN_OR_RETURN (base/status.h), within a task. `expression` may await.
#define ASSAY_CO_RETURN_IF_ERROR(expression)                               \
  do {                                                                     \
    if (::assay::Status assay_status = (expression); !assay_status.ok()) { \
      co_return assay_status;                                              \
    }                                                                      \
  } while (false)
#define ASSAY_CO_ASSIGN_OR_RETURN(target, expression) \
  ASSAY_CO_ASSIGN_OR_RETURN_IMPL(ASSAY_CONCAT(assay_result_, __LINE__), target, expression)
#define ASSAY_CO_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) {                                              \
    co_return result.status();                                     \
  }                                                                \
  target = std::move(result).value()
