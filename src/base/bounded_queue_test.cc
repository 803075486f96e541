#include "base/bounded_queue.h"

#include <gmock/gmock.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace assay {
namespace {

/// Through a queue of `capacity`, from so many threads to as many: what came, in any order.
std::vector<int> Passed(size_t capacity, int threads, int count) {
  BoundedQueue<int> queue(capacity);
  std::atomic<int> next = 0;
  std::vector<std::vector<int>> came(static_cast<size_t>(threads));
  {
    std::vector<std::jthread> takers;
    for (std::vector<int>& mine : came) {
      takers.emplace_back([&queue, &mine] {
        while (const std::optional<int> item = queue.Take()) {
          mine.push_back(*item);
        }
      });
    }
    {
      std::vector<std::jthread> putters;
      for (int i = 0; i < threads; ++i) {
        putters.emplace_back([&] {
          for (int item = next++; item < count; item = next++) {
            EXPECT_TRUE(queue.Put(item));
          }
        });
      }
    }
    queue.Close();
  }
  std::vector<int> all;
  for (const std::vector<int>& mine : came) {
    all.insert(all.end(), mine.begin(), mine.end());
  }
  return all;
}

TEST(BoundedQueue, EachItemIsTakenOnceWhateverItHolds) {
  constexpr int kCount = 5000;
  std::vector<int> all(kCount);
  std::iota(all.begin(), all.end(), 0);
  for (const size_t capacity : {1, 2, 3, 64}) {
    EXPECT_THAT(Passed(capacity, 4, kCount), testing::UnorderedElementsAreArray(all)) << "of capacity " << capacity;
  }
}

TEST(BoundedQueue, WhoWaitsForRoomIsLetInWhenHalfIsFree) {
  BoundedQueue<int> queue(4);
  for (int i = 0; i < 4; ++i) {
    queue.Put(i);
  }
  std::jthread putter([&queue] { queue.Put(4); });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(queue.Take(), i);
  }
  putter.join();
  queue.Close();
  for (int i = 2; i < 5; ++i) {
    EXPECT_EQ(queue.Take(), i);
  }
  EXPECT_EQ(queue.Take(), std::nullopt);
}

TEST(BoundedQueue, ItsEndWakesBothSides) {
  BoundedQueue<int> full(1);
  full.Put(0);
  bool put = true;
  std::jthread putter([&] { put = full.Put(1); });
  BoundedQueue<int> empty(1);
  std::optional<int> taken = 1;
  std::jthread taker([&] { taken = empty.Take(); });
  full.Stop();
  empty.Close();
  putter.join();
  taker.join();
  EXPECT_FALSE(put);
  EXPECT_EQ(taken, std::nullopt);
  EXPECT_EQ(full.Take(), std::nullopt) << "what was stopped gives nothing more";
}

}  // namespace
}  // namespace assay
