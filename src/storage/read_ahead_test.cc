#include "storage/read_ahead.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "storage/conformance.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/memory/memory_store.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Says in which order keys are read, and may hold reads back.
class WatchedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> Read(const std::string& key, std::span<const ReadPiece> pieces,
                          const ReadOptions& options) override {
    {
      std::unique_lock lock(mutex_);
      read_.push_back(key);
      changed_.notify_all();
      changed_.wait(lock, [&] { return !held_ || (options.cancel != nullptr && options.cancel->load()); });
    }
    return ForwardingStore::Read(key, pieces, options);
  }
  void Hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  std::vector<std::string> read() {
    const std::lock_guard lock(mutex_);
    return read_;
  }
  void AwaitReads(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return read_.size() >= count; });
  }
  /// Of reads that are cancelled while they are held back.
  void Wake() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::vector<std::string> read_;
};

class ReadAheadTest : public testing::Test {
 protected:
  ReadAheadTest() : store_(std::make_shared<MemoryStore>("m")) {}

  void Put(const std::string& key, int64_t bytes) {
    const std::string content = RandomContent(bytes, key.front());
    const Bytes whole = AsBytes(content);
    ASSERT_THAT(inner().Write(key, std::span(&whole, 1), {}).status(), IsOk());
  }
  ObjectStore& inner() { return store_; }
  static std::string ContentOf(const std::string& key, int64_t bytes) { return RandomContent(bytes, key.front()); }
  static std::string TextOf(const Result<ReadAhead::Block>& block) {
    return block.ok() ? std::string(reinterpret_cast<const char*>(block->bytes().data()), block->bytes().size())
                      : "error: " + block.status().message();
  }

  WatchedStore store_;
  Transfers transfers_;
};

TEST_F(ReadAheadTest, ReadsInOrderWithinTheWindow) {
  std::vector<ReadAhead::Id> ids;
  ReadAhead ahead(transfers_, store_, {.window_bytes = 250, .reads_at_a_time = 1});
  for (const char* key : {"a", "b", "c", "d"}) {
    Put(key, 100);
    ids.push_back(ahead.Add({.key = key, .bytes = 100}));
  }
  store_.AwaitReads(2);
  auto first = ahead.Take(ids[0]);
  EXPECT_EQ(TextOf(first), ContentOf("a", 100));
  EXPECT_EQ(ahead.taken_bytes(), 200);  // the window has no room for a third
  EXPECT_EQ(store_.read().size(), 2u);
  first = Status::Aborted("let go of");
  store_.AwaitReads(3);
  for (size_t i = 1; i < ids.size(); ++i) {
    EXPECT_EQ(TextOf(ahead.Take(ids[i])), ContentOf(std::string(1, static_cast<char>('a' + i)), 100));
  }
  EXPECT_THAT(store_.read(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(ahead.peak_bytes(), 200);
  EXPECT_EQ(ahead.taken_bytes(), 0);
}

TEST_F(ReadAheadTest, ThoseOfAHigherPriorityAreReadFirst) {
  for (const char* key : {"a", "b", "c"}) {
    Put(key, 10);
  }
  store_.Hold(true);
  ReadAhead ahead(transfers_, store_, {.reads_at_a_time = 1});
  const ReadAhead::Id first = ahead.Add({.key = "a", .bytes = 10});
  store_.AwaitReads(1);
  const ReadAhead::Id low = ahead.Add({.key = "b", .bytes = 10});
  const ReadAhead::Id high = ahead.Add({.key = "c", .bytes = 10, .priority = 1});
  store_.Hold(false);
  for (const ReadAhead::Id id : {first, low, high}) {
    EXPECT_THAT(ahead.Take(id).status(), IsOk());
  }
  EXPECT_THAT(store_.read(), ElementsAre("a", "c", "b"));
}

// Who waits for what lies beyond the window is not held up by what nobody waits for.
TEST_F(ReadAheadTest, WhatIsAwaitedDisplacesWhatLiesReady) {
  std::vector<ReadAhead::Id> ids;
  ReadAhead ahead(transfers_, store_, {.window_bytes = 200});
  for (const char* key : {"a", "b", "c"}) {
    Put(key, 100);
    ids.push_back(ahead.Add({.key = key, .bytes = 100}));
  }
  EXPECT_EQ(TextOf(ahead.Take(ids[2])), ContentOf("c", 100));
  EXPECT_EQ(TextOf(ahead.Take(ids[0])), ContentOf("a", 100));
  EXPECT_EQ(TextOf(ahead.Take(ids[1])), ContentOf("b", 100));
  EXPECT_EQ(ahead.peak_bytes(), 200);
}

TEST_F(ReadAheadTest, SeveralTakersShareOneRead) {
  Put("a", 100);
  ReadAhead ahead(transfers_, store_, {.window_bytes = 100});
  const ReadAhead::Id id = ahead.Add({.key = "a", .offset = 40, .bytes = 20, .takers = 2});
  const auto first = ahead.Take(id);
  const auto second = ahead.Take(id);
  EXPECT_EQ(TextOf(first), ContentOf("a", 100).substr(40, 20));
  EXPECT_EQ(first->bytes().data(), second->bytes().data());
  EXPECT_EQ(store_.read().size(), 1u);
  EXPECT_EQ(ahead.taken_bytes(), 20);
  EXPECT_THAT(ahead.Take(id).status(), HasCode(ErrorCode::kNotFound));
}

TEST_F(ReadAheadTest, WhatOneOfSeveralLetsGoOfMakesRoomForWhoWaits) {
  Put("a", 60);
  Put("b", 60);
  ReadAhead ahead(transfers_, store_, {.window_bytes = 100});
  const ReadAhead::Id shared = ahead.Add({.key = "a", .bytes = 60, .takers = 2});
  const ReadAhead::Id next = ahead.Add({.key = "b", .bytes = 60});
  auto first = ahead.Take(shared);
  ASSERT_THAT(first.status(), IsOk());
  std::future<Result<ReadAhead::Block>> waiting = std::async(std::launch::async, [&] { return ahead.Take(next); });
  // Whether it already waits or not: it is to be read without another call.
  ASSERT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  first = Status::Aborted("let go of");
  ASSERT_EQ(waiting.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(TextOf(waiting.get()), ContentOf("b", 60));
  EXPECT_EQ(TextOf(ahead.Take(shared)), ContentOf("a", 60));
  EXPECT_THAT(store_.read(), ElementsAre("a", "b", "a"));
}

TEST_F(ReadAheadTest, WhatWaitsBehindWhatIsDroppedIsRead) {
  for (const char* key : {"a", "b", "c"}) {
    Put(key, 60);
  }
  ReadAhead ahead(transfers_, store_, {.window_bytes = 100});
  const ReadAhead::Id taken = ahead.Add({.key = "a", .bytes = 60});
  const ReadAhead::Id large = ahead.Add({.key = "b", .bytes = 60});
  ahead.Add({.key = "c", .bytes = 40});
  const auto block = ahead.Take(taken);
  ahead.Drop(large);
  store_.AwaitReads(2);
  EXPECT_THAT(store_.read(), ElementsAre("a", "c"));
}

TEST_F(ReadAheadTest, FailuresAreTheirTakers) {
  ReadAhead ahead(transfers_, store_, {.window_bytes = 100});
  const ReadAhead::Id missing = ahead.Add({.key = "none", .bytes = 10});
  const ReadAhead::Id large = ahead.Add({.key = "a", .bytes = 101});
  EXPECT_THAT(ahead.Take(missing).status(), HasCode(ErrorCode::kNotFound));
  EXPECT_THAT(ahead.Take(large).status(), HasCode(ErrorCode::kInvalidArgument));
  EXPECT_EQ(ahead.taken_bytes(), 0);
}

TEST_F(ReadAheadTest, WhatIsDroppedIsCancelled) {
  Put("a", 10);
  Put("b", 10);
  store_.Hold(true);
  ReadAhead ahead(transfers_, store_, {.window_bytes = 10});
  const ReadAhead::Id dropped = ahead.Add({.key = "a", .bytes = 10});
  const ReadAhead::Id next = ahead.Add({.key = "b", .bytes = 10});
  store_.AwaitReads(1);
  ahead.Drop(dropped);
  store_.Wake();
  store_.AwaitReads(2);  // its memory is given back, and the next begins
  EXPECT_THAT(ahead.Take(dropped).status(), HasCode(ErrorCode::kNotFound));
  std::atomic<bool> cancel = true;
  EXPECT_THAT(ahead.Take(next, &cancel).status(), HasCode(ErrorCode::kAborted));
  ahead.DropAll();
  store_.Hold(false);
  EXPECT_THAT(ahead.Take(next).status(), HasCode(ErrorCode::kNotFound));
}

TEST_F(ReadAheadTest, BlocksMayOutliveIt) {
  Put("a", 100);
  ReadAhead::Block block;
  {
    ReadAhead ahead(transfers_, store_);
    auto taken = ahead.Take(ahead.Add({.key = "a", .bytes = 100}));
    ASSERT_THAT(taken.status(), IsOk());
    block = *taken;
  }
  EXPECT_EQ(TextOf(block), ContentOf("a", 100));
}

// Many consumers of a bucket: all they get is right, and memory stays within the window, which is far too small.
TEST(ReadAheadServed, ManyConsumersShareAWindow) {
  constexpr int kObjects = 64;
  constexpr int kConsumers = 8;
  ServedStore served("s3://test/");
  std::vector<std::string> contents;
  for (int i = 0; i < kObjects; ++i) {
    contents.push_back(RandomContent(100'000 + 7'000 * (i % 9), static_cast<uint64_t>(i)));
    const Bytes bytes = AsBytes(contents.back());
    ASSERT_THAT(served.store().Write(std::to_string(i), std::span(&bytes, 1), {}).status(), IsOk());
  }
  Transfers transfers;
  const int64_t window = 8 * 160'000 + 1;
  ReadAhead ahead(transfers, served.store(), {.window_bytes = window});
  std::vector<ReadAhead::Id> ids;
  for (int i = 0; i < kObjects; ++i) {
    ids.push_back(
        ahead.Add({.key = std::to_string(i), .bytes = static_cast<int64_t>(contents[i].size()), .takers = 2}));
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> consumers;
  for (int consumer = 0; consumer < kConsumers; ++consumer) {
    consumers.emplace_back([&, consumer] {
      // Each object goes to two of them, which are in different places.
      for (int i = 0; i < kObjects; ++i) {
        const int mine = consumer % 2 == 0 ? i : kObjects - 1 - i;
        if (mine % (kConsumers / 2) != consumer / 2) {
          continue;
        }
        const auto block = ahead.Take(ids[static_cast<size_t>(mine)]);
        const std::string& content = contents[static_cast<size_t>(mine)];
        wrong += !block.ok() || block->bytes().size() != content.size() ||
                         !std::ranges::equal(block->bytes(), AsBytes(content))
                     ? 1
                     : 0;
      }
    });
  }
  for (std::thread& consumer : consumers) {
    consumer.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(ahead.taken_bytes(), 0);
  EXPECT_LE(ahead.peak_bytes(), window);
}

}  // namespace
}  // namespace assay::storage
