// Writers and readers of a store within its memory budget.
#include <algorithm>
#include <climits>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "storage/copy/copy_object.h"
#include "storage/copy/read_through.h"
#include "storage/memory/memory_store.h"
#include "storage/memory_pool.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

/// Counts to the byte what is held at a time.
class CountingBuffers final : public BufferAllocator {
 public:
  std::byte* Allocate(size_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (++allocations_ > most_allocations) {
      return nullptr;
    }
    sizes.insert(static_cast<int64_t>(bytes));
    held_ += static_cast<int64_t>(bytes);
    peak_ = std::max(peak_, held_);
    return new std::byte[bytes];
  }
  void Free(std::byte* memory, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    held_ -= static_cast<int64_t>(bytes);
    delete[] memory;
  }
  int64_t peak() const { return peak_; }

  int most_allocations = INT_MAX;  ///< then there is no memory
  std::set<int64_t> sizes;         ///< of what was asked for

 private:
  std::mutex mutex_;
  int allocations_ = 0;
  int64_t held_ = 0;
  int64_t peak_ = 0;
};

/// With parts of 5 MiB.
std::unique_ptr<ServedStore> ServeWithBudget(const std::string& uri, int64_t budget,
                                             std::shared_ptr<BufferAllocator> buffers = nullptr) {
  StoreOptions options;
  options.memory_budget_bytes = budget;
  options.buffers = std::move(buffers);
  return std::make_unique<ServedStore>(uri, objectserver::ServeOptions(), options);
}

std::string ContentOf(int stream) {
  return RandomContent(6 * kMiB + stream, static_cast<uint64_t>(stream) + 1);
}

void WriteStream(ObjectStore& store, int stream) {
  const std::string content = ContentOf(stream);
  // Conditional writes to GCS take another way than parts.
  const auto kind = stream % 2 == 0 ? WriteCondition::Kind::kNone : WriteCondition::Kind::kAbsent;
  auto writer = store.OpenWriter(std::to_string(stream), {.condition = {kind}});
  ASSERT_THAT(writer.status(), IsOk());
  for (size_t begin = 0; begin < content.size(); begin += kMiB) {
    ASSERT_THAT((*writer)->Write(AsBytes(content).subspan(begin).first(std::min<size_t>(kMiB, content.size() - begin))),
                IsOk());
  }
  ASSERT_THAT((*writer)->Commit().status(), IsOk());
}

std::string ReadInWindows(ObjectStore& store, const std::string& key, int64_t window_bytes) {
  std::string content;
  ReadThroughOptions read;
  read.window_bytes = window_bytes;
  const auto take = [&content](Bytes bytes) {
    content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Status::Ok();
  };
  EXPECT_THAT(ReadThrough(store, **store.Stat(key), read, take), IsOk());
  return content;
}

class BudgetTest : public testing::TestWithParam<const char*> {};

// Part of what it was given was taken: nobody knows which.
TEST_P(BudgetTest, AStreamThatOnceHadNoMemoryIsNotPublished) {
  const auto buffers = std::make_shared<CountingBuffers>();
  buffers->most_allocations = 2;
  const auto served = ServeWithBudget(GetParam(), 256 * kMiB, buffers);
  ObjectStore& store = served->store();
  const std::string content = RandomContent(40 * kMiB, 1);
  auto writer = store.OpenWriter("k", {});
  ASSERT_THAT(writer.status(), IsOk());
  EXPECT_THAT((*writer)->Write(AsBytes(content)), HasCode(ErrorCode::kOutOfMemory));
  buffers->most_allocations = INT_MAX;
  EXPECT_THAT((*writer)->Write(AsBytes(content)), HasCode(ErrorCode::kOutOfMemory));
  EXPECT_THAT((*writer)->Commit().status(), HasCode(ErrorCode::kOutOfMemory));
  EXPECT_FALSE((*store.Stat("k")).has_value());
  EXPECT_THAT(*store.ListUploads(""), testing::IsEmpty());
}

TEST_P(BudgetTest, ManyWritersAndReadersStayWithin) {
  constexpr int kStreams = 64;
  const auto buffers = std::make_shared<CountingBuffers>();
  const auto served = ServeWithBudget(GetParam(), 256 * kMiB, buffers);
  ObjectStore& store = served->store();
  MemoryPool& pool = *store.memory_pool();
  const std::string read_by_all = RandomContent(6 * kMiB, 0);
  const Bytes bytes = AsBytes(read_by_all);
  ASSERT_THAT(store.Write("read by all", std::span(&bytes, 1), {}).status(), IsOk());
  std::latch all_are_there(2 * kStreams);
  std::vector<std::thread> threads;
  for (int stream = 0; stream < kStreams; ++stream) {
    threads.emplace_back([&, stream] {
      all_are_there.arrive_and_wait();
      WriteStream(store, stream);
    });
    threads.emplace_back([&] {
      all_are_there.arrive_and_wait();
      EXPECT_TRUE(ReadInWindows(store, "read by all", 2 * kMiB) == read_by_all);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_LE(pool.peak(), pool.budget());
  EXPECT_LE(buffers->peak(), pool.budget()) << "with what is kept for later";
  EXPECT_GE(pool.peak(), pool.budget() / 2);
  EXPECT_EQ(pool.taken(), 0);
  for (int stream = 0; stream < kStreams; ++stream) {
    EXPECT_TRUE(ReadInWindows(store, std::to_string(stream), 4 * kMiB) == ContentOf(stream)) << stream;
  }
}

TEST_P(BudgetTest, OneThreadMayWriteManyStreamsInTurns) {
  constexpr int kStreams = 16;
  const auto served = ServeWithBudget(GetParam(), 16 * kMiB);
  ObjectStore& store = served->store();
  const std::string content = RandomContent(kMiB, 1);
  std::vector<std::unique_ptr<ObjectWriter>> writers;
  for (int stream = 0; stream < kStreams; ++stream) {
    writers.push_back(*store.OpenWriter(std::to_string(stream), {}));
  }
  for (int round = 0; round < 7; ++round) {
    for (const auto& writer : writers) {
      ASSERT_THAT(writer->Write(AsBytes(content)), IsOk());
    }
  }
  for (const auto& writer : writers) {
    EXPECT_EQ((*writer->Commit()).size, 7 * kMiB);
  }
  EXPECT_EQ(store.memory_pool()->taken(), 0);
}

TEST_P(BudgetTest, WhatIsGivenUpHoldsNothing) {
  const auto served = ServeWithBudget(GetParam(), 16 * kMiB);
  ObjectStore& store = served->store();
  auto writer = *store.OpenWriter("key", {});
  ASSERT_THAT(writer->Write(AsBytes(ContentOf(0))), IsOk());
  EXPECT_GT(store.memory_pool()->taken(), 0);
  writer->Abort();
  EXPECT_EQ(store.memory_pool()->taken(), 0);
}

TEST_P(BudgetTest, WhatIsReadInSmallerWindowsThanAskedForIsComparedToo) {
  const auto served = ServeWithBudget(GetParam(), 8 * kMiB);
  ObjectStore& store = served->store();
  const std::string content = RandomContent(10 * kMiB, 1);
  const Bytes bytes = AsBytes(content);
  ASSERT_THAT(store.Write("key", std::span(&bytes, 1), {}).status(), IsOk());
  ObjectInfo info = **store.Stat("key");
  const auto take = [](Bytes) { return Status::Ok(); };
  EXPECT_THAT(ReadThrough(store, info, {}, take), IsOk());
  info.checksum = ChecksumOf(ChecksumKind::kCrc32c, AsBytes("something else"));
  EXPECT_THAT(ReadThrough(store, info, {}, take).message(), HasSubstr("damaged"));
}

INSTANTIATE_TEST_SUITE_P(Stores, BudgetTest, testing::Values("s3://test/", "gs://test/", "oci://test@assay/"));

TEST(Budget, WhatIsCopiedInOnePieceLiesWithinToo) {
  for (const int64_t budget : {8 * kMiB, 2 * kMiB}) {
    const auto served = ServeWithBudget("s3://test/", budget);
    ObjectStore& store = served->store();
    const std::string content = RandomContent(3 * kMiB, 1);
    const Bytes bytes = AsBytes(content);
    ASSERT_THAT(store.Write("key", std::span(&bytes, 1), {}).status(), IsOk());
    MemoryStore target("target");
    ASSERT_THAT(CopyObject(store, "key", target, "key", {}).status(), IsOk());
    EXPECT_EQ((*target.Stat("key"))->size, 3 * kMiB);
    EXPECT_EQ(store.memory_pool()->peak(), std::min(budget, 3 * kMiB)) << "whole, or in windows";
    EXPECT_EQ(store.memory_pool()->taken(), 0);
  }
}

// Of pieces too small to be copied by the store, or by a store that copies none.
TEST(Budget, WhatIsPutTogetherLiesWithinToo) {
  // S3 is sent the smallest parts that it takes, OCI piece after piece through a writer.
  const std::map<const char*, int64_t> buffer_bytes = {{"s3://test/", 5 * kMiB}, {"oci://test@assay/", 3 * kMiB}};
  for (const auto& [uri, bytes_at_a_time] : buffer_bytes) {
    const auto buffers = std::make_shared<CountingBuffers>();
    const auto served = ServeWithBudget(uri, 16 * kMiB, buffers);
    ObjectStore& store = served->store();
    std::string content;
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < 12; ++i) {
      const std::string piece = RandomContent(3 * kMiB, i);
      const Bytes bytes = AsBytes(piece);
      keys.push_back("piece" + std::to_string(i));
      ASSERT_THAT(store.Write(keys.back(), std::span(&bytes, 1), {}).status(), IsOk());
      content += piece;
    }
    ASSERT_EQ(store.memory_pool()->peak(), 0) << "whole objects are sent from where they lie";
    ASSERT_THAT(store.Compose(keys, "all", {}).status(), IsOk()) << uri;
    EXPECT_TRUE(buffers->sizes.contains(bytes_at_a_time)) << uri;
    EXPECT_LE(store.memory_pool()->peak(), 16 * kMiB) << uri;
    EXPECT_EQ(store.memory_pool()->taken(), 0) << uri;
    EXPECT_TRUE(ReadInWindows(store, "all", 8 * kMiB) == content) << uri;
  }
}

TEST(Budget, WhatPoursThroughLeavesRoomForItsParts) {
  const auto served = ServeWithBudget("oci://test@assay/", 8 * kMiB);
  ObjectStore& store = served->store();
  const std::vector<std::string> contents = {RandomContent(16 * kMiB, 1), RandomContent(16 * kMiB, 2)};
  const std::vector<std::string> keys = {"first", "second"};
  for (size_t i = 0; i < keys.size(); ++i) {
    const Bytes bytes = AsBytes(contents[i]);
    ASSERT_THAT(store.Write(keys[i], std::span(&bytes, 1), {}).status(), IsOk());
  }
  ASSERT_THAT(store.Compose(keys, "both", {}).status(), IsOk());
  EXPECT_LE(store.memory_pool()->peak(), 8 * kMiB);
  EXPECT_TRUE(ReadInWindows(store, "both", 4 * kMiB) == contents[0] + contents[1]);
}

TEST(Budget, SmallerThanAPartTakesWhatFitsAndRefusesMore) {
  const auto served = ServeWithBudget("s3://test/", 2 * kMiB);
  ObjectStore& store = served->store();
  const auto fits = *store.OpenWriter("fits", {});
  EXPECT_THAT(fits->Write(AsBytes(RandomContent(2 * kMiB, 1))), IsOk());
  EXPECT_THAT(fits->Commit().status(), IsOk());
  const auto more = *store.OpenWriter("more", {});
  const Status refused = more->Write(AsBytes(RandomContent(2 * kMiB + 1, 1)));
  EXPECT_THAT(refused, HasCode(ErrorCode::kInvalidArgument));
  EXPECT_THAT(refused.message(), HasSubstr("the memory budget is 2097152 (raise it)"));
  EXPECT_FALSE(store.Stat("more")->has_value());
}

}  // namespace
}  // namespace assay::storage
