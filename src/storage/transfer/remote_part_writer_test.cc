// Writes whose parts come from several producers, in any order.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "storage/async_store.h"
#include "storage/memory_pool.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

constexpr int64_t kPart = 5 * kMiB;  // of ServedStore

std::unique_ptr<ServedStore> Serve(const std::string& uri, int64_t budget = 256 * kMiB) {
  StoreOptions options;
  options.memory_budget_bytes = budget;
  return std::make_unique<ServedStore>(uri, objectserver::ServeOptions(), options);
}

/// Fills part `index` of `content` and hands it over.
Status Produce(PartWriter& writer, int64_t index, std::string_view content) {
  ASSAY_ASSIGN_OR_RETURN(const MutableBytes memory, writer.Reserve(index));
  const std::string_view part =
      content.substr(static_cast<size_t>(writer.PartOffset(index)), static_cast<size_t>(writer.PartBytes(index)));
  std::memcpy(memory.data(), part.data(), part.size());
  return writer.WritePart(index, static_cast<int64_t>(part.size()));
}

std::string Get(ObjectStore& store, const std::string& key) {
  std::string content;
  const auto allocate = [&](int64_t size) {
    content.resize(static_cast<size_t>(size));
    return std::as_writable_bytes(std::span(content));
  };
  const auto info = store.ReadWhole(key, allocate, {});
  return info.ok() ? content : "error: " + info.status().message();
}

class RemotePartWriterTest : public testing::TestWithParam<const char*> {};

TEST_P(RemotePartWriterTest, TakesPartsOfSeveralThreadsInAnyOrder) {
  const auto served = Serve(GetParam());
  const std::string content = RandomContent(9 * kPart + 12'345, 1);
  auto writer = *served->store().async()->OpenParts("k", {});
  std::vector<int64_t> order = {9, 4, 0, 7, 2, 8, 1, 6, 3, 5};
  std::atomic<size_t> next = 0;
  std::vector<std::thread> producers;
  for (int producer = 0; producer < 3; ++producer) {
    producers.emplace_back([&] {
      for (size_t i = next++; i < order.size(); i = next++) {
        EXPECT_THAT(Produce(*writer, order[i], content), IsOk()) << order[i];
      }
    });
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
  const auto info = writer->Commit();
  ASSERT_THAT(info.status(), IsOk());
  EXPECT_EQ(info->size, static_cast<int64_t>(content.size()));
  EXPECT_TRUE(Get(served->store(), "k") == content);
  EXPECT_EQ(served->store().memory_pool()->taken(), 0);
}

// Half of the writers fill parts from two threads, half are streams; as many readers hold windows meanwhile.
TEST_P(RemotePartWriterTest, ManyWritersAndReadersStayWithinTheBudget) {
  constexpr int kEach = 64;
  const auto served = Serve(GetParam(), 256 * kMiB);
  ObjectStore& store = served->store();
  MemoryPool& pool = *store.memory_pool();
  const std::string content = RandomContent(2 * kPart + 999, 2);
  const Bytes bytes = AsBytes(content);
  ASSERT_THAT(store.Write("read", std::span(&bytes, 1), {}).status(), IsOk());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kEach; ++i) {
    threads.emplace_back([&, i] {
      const std::string key = std::to_string(i);
      if (i % 2 == 0) {
        auto writer = *store.async()->OpenParts(key, {});
        std::thread other([&] { wrong += Produce(*writer, 2, content).ok() ? 0 : 1; });
        wrong += Produce(*writer, 1, content).ok() && Produce(*writer, 0, content).ok() ? 0 : 1;
        other.join();
        EXPECT_THAT(writer->Commit().status(), IsOk());
      } else {
        auto writer = *store.OpenWriter(key, {});
        EXPECT_THAT(writer->Write(bytes), IsOk());
        EXPECT_THAT(writer->Commit().status(), IsOk());
      }
    });
    threads.emplace_back([&] {
      for (int64_t offset = 0; offset < 2 * kPart; offset += kPart) {
        const auto window = pool.Take(kPart);
        const ReadPiece piece = {offset, window->bytes()};
        wrong += store.Read("read", std::span(&piece, 1), {}).ok() &&
                         std::memcmp(piece.memory.data(), content.data() + offset, kPart) == 0
                     ? 0
                     : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(pool.peak(), pool.budget());
  EXPECT_GE(pool.peak(), pool.budget() / 2);
  EXPECT_EQ(pool.taken(), 0);
  for (int i = 0; i < kEach; ++i) {
    EXPECT_TRUE(Get(store, std::to_string(i)) == content) << i;
  }
}

TEST_P(RemotePartWriterTest, AProducerThatStopsLeavesNothing) {
  const auto served = Serve(GetParam());
  ObjectStore& store = served->store();
  const std::string content = RandomContent(4 * kPart, 3);
  {
    auto writer = *store.async()->OpenParts("k", {});
    ASSERT_THAT(Produce(*writer, 0, content), IsOk());
    ASSERT_THAT(Produce(*writer, 2, content), IsOk());
    ASSERT_THAT(writer->Reserve(1).status(), IsOk());
    EXPECT_EQ(store.ListUploads("")->size(), 1u);
  }
  EXPECT_EQ(store.memory_pool()->taken(), 0);
  EXPECT_THAT(*store.ListUploads(""), testing::IsEmpty());
  EXPECT_FALSE(store.Stat("k")->has_value());
}

TEST_P(RemotePartWriterTest, RefusesWhatIsNoWholeObject) {
  const auto served = Serve(GetParam());
  AsyncStore& store = *served->store().async();
  const std::string content = RandomContent(3 * kPart, 4);
  const auto refused = [](const Status& status, const char* why) {
    EXPECT_THAT(status, HasCode(ErrorCode::kInvalidArgument));
    EXPECT_THAT(status.message(), HasSubstr(why));
  };
  auto gap = *store.OpenParts("gap", {});
  ASSERT_THAT(Produce(*gap, 0, content), IsOk());
  ASSERT_THAT(Produce(*gap, 2, content), IsOk());
  refused(gap->Commit().status(), "some are missing");
  auto open = *store.OpenParts("open", {});
  ASSERT_THAT(Produce(*open, 0, content), IsOk());
  ASSERT_THAT(open->Reserve(1).status(), IsOk());
  refused(open->Reserve(1).status(), "reserved before");
  refused(open->Commit().status(), "part 1 was reserved and not written");
  auto uneven = *store.OpenParts("uneven", {});
  ASSERT_THAT(uneven->Reserve(1).status(), IsOk());
  ASSERT_THAT(uneven->WritePart(1, 10), IsOk());
  ASSERT_THAT(uneven->Reserve(2).status(), IsOk());
  refused(uneven->WritePart(2, 10), "only the last may have fewer");
  refused(uneven->Commit().status(), "only the last may have fewer");
  for (const char* key : {"gap", "open", "uneven"}) {
    EXPECT_FALSE(served->store().Stat(key)->has_value()) << key;
  }
}

TEST_P(RemotePartWriterTest, OnePartIsOneRequestAndNoneIsAnEmptyObject) {
  const auto served = Serve(GetParam());
  auto one = *served->store().async()->OpenParts("one", {});
  ASSERT_THAT(Produce(*one, 0, "hello"), IsOk());
  EXPECT_THAT(one->Commit().status(), IsOk());
  EXPECT_EQ(Get(served->store(), "one"), "hello");
  auto none = *served->store().async()->OpenParts("none", {});
  EXPECT_THAT(none->Commit().status(), IsOk());
  EXPECT_EQ(Get(served->store(), "none"), "");
}

INSTANTIATE_TEST_SUITE_P(Stores, RemotePartWriterTest,
                         testing::Values("s3://test/", "gs://test/", "oci://test@assay/"));

TEST(RemotePartWriter, WhatIsTakenOnlyInOrderIsRefused) {
  const auto served = Serve("gs://test/");
  WriteOptions create;
  create.condition.kind = WriteCondition::Kind::kAbsent;
  EXPECT_THAT(served->store().async()->OpenParts("k", create).status(), HasCode(ErrorCode::kUnsupported));
  WriteOptions expecting;
  expecting.expected = ChecksumOf(ChecksumKind::kMd5, {});
  EXPECT_THAT(served->store().async()->OpenParts("k", expecting).status(), HasCode(ErrorCode::kUnsupported));
}

TEST(RemotePartWriter, AConditionHolds) {
  const auto served = Serve("s3://test/");
  const std::string content = RandomContent(2 * kPart, 5);
  WriteOptions create;
  create.condition.kind = WriteCondition::Kind::kAbsent;
  for (const bool first : {true, false}) {
    auto writer = *served->store().async()->OpenParts("k", create);
    ASSERT_THAT(Produce(*writer, 1, content), IsOk());
    ASSERT_THAT(Produce(*writer, 0, content), IsOk());
    EXPECT_THAT(writer->Commit().status(), HasCode(first ? ErrorCode::kOk : ErrorCode::kFailedPrecondition));
  }
}

TEST(RemotePartWriter, ABudgetSmallerThanAPartIsOneLine) {
  const auto served = Serve("s3://test/", 2 * kMiB);
  auto writer = *served->store().async()->OpenParts("k", {});
  const std::string content = RandomContent(4 * kMiB, 6);
  ASSERT_THAT(Produce(*writer, 0, content), IsOk());
  const Status refused = Produce(*writer, 1, content);
  EXPECT_THAT(refused, HasCode(ErrorCode::kInvalidArgument));
  EXPECT_THAT(refused.message(), HasSubstr("the memory budget is 2097152 (raise it)"));
}

}  // namespace
}  // namespace assay::storage
