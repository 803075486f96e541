#include "storage/memory_pool.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "storage/conformance.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

TEST(MemoryPool, CountsToTheByteWhatIsTakenAndGivenBack) {
  MemoryPool pool(100);
  {
    const PooledMemory first = *pool.Take(60);
    EXPECT_EQ(first.bytes().size(), 60u);
    EXPECT_FALSE(pool.TryTake(41).has_value());
    PooledMemory second = *pool.TryTake(40);
    EXPECT_EQ(pool.taken(), 100);
    const PooledMemory moved = std::move(second);
    EXPECT_EQ(pool.taken(), 100);
  }
  EXPECT_EQ(pool.taken(), 0);
  EXPECT_EQ(pool.peak(), 100);
  const Status refused = pool.Take(101).status();
  EXPECT_THAT(refused, HasCode(ErrorCode::kInvalidArgument));
  EXPECT_THAT(refused.message(), HasSubstr("memory budget"));
}

/// Counts what it gave, and gives no more than there is.
class CountingAllocator final : public BufferAllocator {
 public:
  explicit CountingAllocator(size_t bytes) : most_(bytes) {}
  std::byte* Allocate(size_t bytes) override {
    if (held_ + bytes > most_) {
      return nullptr;
    }
    held_ += bytes;
    return new std::byte[bytes];
  }
  void Free(std::byte* memory, size_t bytes) override {
    held_ -= bytes;
    delete[] memory;
  }
  size_t held() const { return held_; }

 private:
  const size_t most_;
  size_t held_ = 0;
};

TEST(MemoryPool, TakesMemoryFromWhoeverHasTheRightKind) {
  const auto allocator = std::make_shared<CountingAllocator>(100);
  {
    MemoryPool pool(100, allocator);
    std::optional<PooledMemory> first = *pool.Take(60);
    EXPECT_EQ(allocator->held(), 60u);
    first.reset();
    EXPECT_EQ(allocator->held(), 60u) << "kept for who asks for as much";
    const PooledMemory second = *pool.Take(50);
    EXPECT_EQ(allocator->held(), 50u) << "what is kept gives way before there is more than the budget";
  }
  EXPECT_EQ(allocator->held(), 0u);
}

TEST(MemoryPool, WhatIsKeptGivesWayWhereThereIsLessThanTheBudget) {
  const auto allocator = std::make_shared<CountingAllocator>(100);
  MemoryPool pool(200, allocator);
  {
    const PooledMemory kept = *pool.Take(60);
  }
  EXPECT_THAT(pool.Take(50).status(), IsOk());
  EXPECT_EQ(allocator->held(), 50u);
}

TEST(MemoryPool, WhereThereIsNoMemoryNothingIsCounted) {
  MemoryPool pool(100, std::make_shared<CountingAllocator>(30));
  const Status refused = pool.Take(60).status();
  EXPECT_THAT(refused, HasCode(ErrorCode::kOutOfMemory));
  EXPECT_THAT(refused.message(), HasSubstr("lower the memory budget"));
  EXPECT_FALSE(pool.TryTake(60).has_value());
  EXPECT_EQ(pool.taken(), 0);
  EXPECT_THAT(pool.Take(30).status(), IsOk());
}

/// Frees buffers of one size only when it is told to; may be called by several threads.
class SlowAllocator final : public BufferAllocator {
 public:
  explicit SlowAllocator(size_t slow) : slow_(slow) {}
  std::byte* Allocate(size_t bytes) override {
    const size_t held = held_ += bytes;
    peak_ = std::max(peak_.load(), held);
    return new std::byte[bytes];
  }
  void Free(std::byte* memory, size_t bytes) override {
    if (bytes == slow_) {
      is_slow_ = true;
      is_slow_.notify_all();
      may_end_.wait(false);
    }
    delete[] memory;
    held_ -= bytes;
  }
  void AwaitSlow() const { is_slow_.wait(false); }
  void End() {
    may_end_ = true;
    may_end_.notify_all();
  }
  size_t peak() const { return peak_; }

 private:
  const size_t slow_;
  std::atomic<size_t> held_ = 0;
  std::atomic<size_t> peak_ = 0;
  std::atomic<bool> is_slow_ = false;
  std::atomic<bool> may_end_ = false;
};

TEST(MemoryPool, OthersTakeWhileAnAllocatorWorks) {
  const auto allocator = std::make_shared<SlowAllocator>(60);
  MemoryPool slow(100, allocator);
  MemoryPool other(100);
  {
    const PooledMemory kept = *slow.Take(60);
  }
  std::thread taker([&] { EXPECT_THAT(slow.Take(50).status(), IsOk()); });
  allocator->AwaitSlow();
  EXPECT_TRUE(other.TryTake(100).has_value());
  EXPECT_FALSE(slow.TryTake(10).has_value()) << "what is being freed still counts";
  std::thread waiting([&] { EXPECT_THAT(slow.Take(50).status(), IsOk()); });
  allocator->End();
  taker.join();
  waiting.join();
  EXPECT_LE(allocator->peak(), 100U);
}

TEST(MemoryPool, IsWithinItsBudgetWhileAnAllocatorWorks) {
  const auto allocator = std::make_shared<SlowAllocator>(49);
  MemoryPool pool(100, allocator);
  {
    const PooledMemory first = *pool.Take(49);
    const PooledMemory second = *pool.Take(50);
  }
  std::thread taker([&] { EXPECT_THAT(pool.Take(2).status(), IsOk()); });
  allocator->AwaitSlow();
  EXPECT_THAT(pool.Take(2).status(), IsOk());
  allocator->End();
  taker.join();
  EXPECT_EQ(pool.taken(), 0);
  EXPECT_LE(allocator->peak(), 100U);
}

TEST(MemoryPool, WhereMemoryIsBeingFreedItIsWaitedFor) {
  /// Has 60 bytes, of which freeing takes a while.
  class ScantAllocator final : public BufferAllocator {
   public:
    std::byte* Allocate(size_t bytes) override {
      if (held_ + bytes > 60) {
        return nullptr;
      }
      held_ += bytes;
      return new std::byte[bytes];
    }
    void Free(std::byte* memory, size_t bytes) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      delete[] memory;
      held_ -= bytes;
    }

   private:
    std::atomic<size_t> held_ = 0;
  };
  MemoryPool pool(200, std::make_shared<ScantAllocator>());
  {
    const PooledMemory kept = *pool.Take(60);
  }
  std::vector<std::thread> takers;
  for (int i = 0; i < 2; ++i) {
    takers.emplace_back([&] { EXPECT_THAT(pool.Take(20).status(), IsOk()); });
  }
  for (std::thread& taker : takers) {
    taker.join();
  }
}

TEST(MemoryPool, WhoWaitsIsServedInOrder) {
  MemoryPool pool(100);
  std::optional<PooledMemory> held = *pool.Take(80);
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  // The second one would fit at once, and must not overtake the first.
  for (const int bytes : {95, 10}) {
    threads.emplace_back([&pool, &next, bytes] {
      const PooledMemory memory = *pool.Take(bytes);
      EXPECT_EQ(next++, bytes == 95 ? 0 : 1);
    });
    // What would be given to nobody who waits is given no more.
    while (pool.TryTake(10).has_value()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so that the second one mostly waits too
  EXPECT_EQ(next, 0);
  held.reset();
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(pool.taken(), 0);
}

TEST(MemoryPool, ACancelledWaitEnds) {
  MemoryPool pool(10);
  PooledMemory held = *pool.Take(10);
  held.SetMoving();
  std::atomic<bool> cancelled = false;
  std::thread waiting([&] { EXPECT_THAT(pool.Take(1, &cancelled).status(), HasCode(ErrorCode::kAborted)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  cancelled = true;
  waiting.join();
  EXPECT_EQ(pool.taken(), 10);
}

TEST(MemoryPool, AThreadDoesNotWaitForItself) {
  MemoryPool pool(10);
  const PooledMemory held = *pool.Take(10);
  EXPECT_THAT(pool.Take(5).status(), IsOk());
  EXPECT_EQ(pool.peak(), 15);
}

TEST(MemoryPool, ThreadsDoNotWaitForEachOther) {
  MemoryPool pool(10);
  std::atomic<int> holders = 0;
  const auto take_twice = [&] {
    const PooledMemory first = *pool.Take(5);
    ++holders;
    while (holders < 2) {
      std::this_thread::yield();
    }
    EXPECT_THAT(pool.Take(5).status(), IsOk());
  };
  std::thread other(take_twice);
  take_twice();
  other.join();
  EXPECT_EQ(pool.taken(), 0);
}

TEST(MemoryPool, HoldersOfTwoPoolsDoNotWaitForEachOther) {
  MemoryPool first(10);
  MemoryPool second(10);
  std::atomic<int> holders = 0;
  std::atomic<int> done = 0;
  std::atomic<bool> cancel = false;
  const auto take_both = [&](MemoryPool& own, MemoryPool& other) {
    const PooledMemory held = *own.Take(10);
    ++holders;
    while (holders < 2) {
      std::this_thread::yield();
    }
    EXPECT_THAT(other.Take(10, &cancel).status(), IsOk());
    ++done;
  };
  std::thread there(take_both, std::ref(first), std::ref(second));
  std::thread back(take_both, std::ref(second), std::ref(first));
  for (int look = 0; look < 500 && done < 2; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  cancel = true;  // who still waits would do so for ever
  there.join();
  back.join();
  EXPECT_EQ(first.taken() + second.taken(), 0);
}

TEST(MemoryPool, IsWithinItsBudgetWhileAHolderWaitsForAnotherThatGoesOn) {
  MemoryPool first(10);
  MemoryPool second(10);
  std::optional<PooledMemory> held = *second.Take(10);
  std::atomic<bool> has_first = false;
  std::thread holder([&] {
    const PooledMemory own = *first.Take(10);
    has_first = true;
    EXPECT_THAT(second.Take(10).status(), IsOk());
  });
  while (!has_first) {
    std::this_thread::yield();
  }
  std::thread waiting([&] { EXPECT_THAT(first.Take(10).status(), IsOk()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // more than one look at what others wait for
  EXPECT_EQ(first.taken(), 10);
  held.reset();
  holder.join();
  waiting.join();
  EXPECT_EQ(first.peak(), 10);
  EXPECT_EQ(second.peak(), 10);
}

}  // namespace
}  // namespace assay::storage
