#include "base/task.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/status.h"

namespace assay {
namespace {

/// Resumes who awaits it from another thread.
struct FromAnotherThread {
  bool await_ready() const { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    std::thread([executor = awaiting.promise().executor, awaiting] { executor->Post(awaiting); }).detach();
  }
  void await_resume() const {}
};

Task<int64_t> Add(int64_t a, int64_t b) {
  co_return a + b;
}

Task<std::string> AddAll(int count, std::thread::id& ran_on) {
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    sum = co_await Add(sum, i);
  }
  co_await FromAnotherThread();
  ran_on = std::this_thread::get_id();
  co_return std::to_string(sum);
}

TEST(Task, RunsOnTheThreadThatWaitsForIt) {
  std::thread::id ran_on;
  EXPECT_EQ(RunHere(AddAll(100'000, ran_on)), "4999950000");
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

Task<int> Throw() {
  throw std::runtime_error("thrown");
  co_return 0;
}

Task<int> AwaitThrow() {
  const int value = co_await Throw();
  co_return value;
}

TEST(Task, ExceptionsPassThrough) {
  EXPECT_THROW(RunHere(AwaitThrow()), std::runtime_error);
}

Task<Result<int>> Half(int value) {
  if (value % 2 != 0) {
    co_return Status::InvalidArgument("odd");
  }
  co_return value / 2;
}

Task<Result<int>> Quarter(int value) {
  ASSAY_CO_ASSIGN_OR_RETURN(const int half, co_await Half(value));
  ASSAY_CO_ASSIGN_OR_RETURN(const int quarter, co_await Half(half));
  co_return quarter;
}

TEST(Task, ErrorsEndIt) {
  EXPECT_EQ(*RunHere(Quarter(8)), 2);
  EXPECT_EQ(RunHere(Quarter(6)).status().message(), "odd");
}

TEST(Task, WhatIsNeverAwaitedIsFreed) {
  const auto held = std::make_shared<int>(1);
  {
    const auto task = [](std::shared_ptr<int> kept) -> Task<int> { co_return *kept; }(held);
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

Task<void> Count(std::atomic<int>& count) {
  co_await FromAnotherThread();
  ++count;
}

TEST(WorkerThreads, RunWhatIsSpawnedToItsEnd) {
  std::atomic<int> count = 0;
  {
    WorkerThreads workers(3);
    for (int i = 0; i < 50; ++i) {
      Spawn(workers, Count(count));
    }
    while (count < 50) {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(count, 50);
}

}  // namespace
}  // namespace assay
