// Conformance: what reads give, refuse and notice.
#include <atomic>
#include <numeric>
#include <thread>

#include "storage/conformance.h"

namespace assay::storage {
namespace {

using testing::Each;
using testing::ElementsAre;

MutableBytes Memory(std::string& text) {
  return std::as_writable_bytes(std::span(text));
}

TEST_P(ObjectStoreConformance, SaysNothingOfWhatIsNotThere) {
  EXPECT_FALSE(Exists("nothing"));
  std::string memory(1, ' ');
  const ReadPiece piece = {0, Memory(memory)};
  EXPECT_THAT(store().Read("nothing", std::span(&piece, 1), {}).status(), HasCode(ErrorCode::kNotFound));
  EXPECT_THAT(store().ReadWhole("nothing", [&](int64_t) { return Memory(memory); }, {}).status(),
              HasCode(ErrorCode::kNotFound));
}

TEST_P(ObjectStoreConformance, DescribesAnObject) {
  const ObjectInfo written = Put("a/b.bin", "hello");
  const auto info = store().Stat("a/b.bin");
  ASSERT_THAT(info.status(), IsOk());
  ASSERT_TRUE(info->has_value());
  EXPECT_EQ((*info)->key, "a/b.bin");
  EXPECT_EQ((*info)->size, 5);
  EXPECT_EQ((*info)->etag, written.etag);
  EXPECT_NE((*info)->etag, "");
  EXPECT_EQ((*info)->etag.find('"'), std::string::npos);
  EXPECT_GT((*info)->modified, 1.6e9);
  EXPECT_FALSE(Exists("a"));
  EXPECT_FALSE(Exists("a/"));
  EXPECT_FALSE(Exists("a/b.bin/c"));
}

TEST_P(ObjectStoreConformance, ReadsAnEmptyObject) {
  Put("empty", "");
  EXPECT_EQ(Get("empty"), "");
  const ReadPiece piece = {0, {}};
  EXPECT_THAT(store().Read("empty", std::span(&piece, 1), {}).status(), IsOk());
  EXPECT_THAT(store().Read("empty", {}, {}).status(), IsOk());
}

TEST_P(ObjectStoreConformance, FillsPiecesInAnyOrder) {
  const std::string content = RandomContent(100'000, 1);
  Put("pieces", content);
  const std::vector<std::pair<int64_t, size_t>> ranges = {{99'990, 10}, {0, 1},           {50, 1000}, {1, 0},
                                                          {1050, 3},    {60'000, 20'000}, {55, 7},    {100'000, 0}};
  std::vector<std::string> memory;
  std::vector<ReadPiece> pieces;
  for (const auto& [offset, bytes] : ranges) {
    memory.emplace_back(bytes, '?');
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    pieces.push_back({ranges[i].first, Memory(memory[i])});
  }
  const auto info = store().Read("pieces", pieces, {});
  ASSERT_THAT(info.status(), IsOk());
  EXPECT_EQ(info->size, 100'000);
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(memory[i], content.substr(static_cast<size_t>(ranges[i].first), ranges[i].second)) << "piece " << i;
  }
}

TEST_P(ObjectStoreConformance, RefusesRangesBeyondTheEnd) {
  Put("short", "12345");
  for (const auto& [offset, bytes] :
       std::vector<std::pair<int64_t, size_t>>{{0, 6}, {4, 2}, {5, 1}, {900, 1}, {6, 0}}) {
    std::string memory(bytes, '?');
    const ReadPiece piece = {offset, Memory(memory)};
    EXPECT_THAT(store().Read("short", std::span(&piece, 1), {}).status(), HasCode(ErrorCode::kInvalidArgument))
        << offset << " " << bytes;
  }
}

TEST_P(ObjectStoreConformance, ReadsOnlyTheVersionAskedFor) {
  const std::string before = Put("versioned", "first").etag;
  EXPECT_EQ(Get("versioned", {.if_match = before}), "first");
  const std::string after = Put("versioned", "other").etag;
  EXPECT_NE(before, after);
  std::string memory(5, '?');
  const ReadPiece piece = {0, Memory(memory)};
  EXPECT_THAT(store().Read("versioned", std::span(&piece, 1), {.if_match = before}).status(),
              HasCode(ErrorCode::kFailedPrecondition));
  EXPECT_THAT(store().ReadWhole("versioned", [&](int64_t) { return Memory(memory); }, {.if_match = before}).status(),
              HasCode(ErrorCode::kFailedPrecondition));
  EXPECT_EQ(Get("versioned", {.if_match = after}), "other");
}

// While another program replaces the object, a read of many ranges is all of one version or fails.
TEST_P(ObjectStoreConformance, NeverMixesVersions) {
  constexpr size_t kBytes = 300'000;
  Put("changing", std::string(kBytes, 'A'));
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    for (int i = 0; !stop; ++i) {
      Put("changing", std::string(kBytes, static_cast<char>('A' + i % 26)));
    }
  });
  for (int i = 0; i < 20; ++i) {
    std::string memory(kBytes, '?');
    std::vector<ReadPiece> pieces;
    for (size_t at = 0; at < kBytes; at += kBytes / 10) {
      pieces.push_back({static_cast<int64_t>(at), Memory(memory).subspan(at, kBytes / 10)});
    }
    const auto info = store().Read("changing", pieces, {});
    if (info.ok()) {
      EXPECT_EQ(memory, std::string(kBytes, memory[0]));
    } else {
      EXPECT_THAT(info.status(), HasCode(ErrorCode::kFailedPrecondition));
    }
  }
  stop = true;
}

TEST_P(ObjectStoreConformance, StopsReadingWhenCancelled) {
  const std::string written = RandomContent(GetParam().large_bytes, 2);
  Put("long", written);
  std::atomic<bool> cancel = true;
  EXPECT_THAT(Get("long", {.cancel = &cancel}), testing::StartsWith("error: "));
  cancel = false;
  std::string content;
  const auto allocate = [&](int64_t size) {
    content.resize(static_cast<size_t>(size));
    return Memory(content);
  };
  const ReadOptions options = {.cancel = &cancel, .progress = [&](int64_t) { cancel = true; }};
  const Status status = store().ReadWhole("long", allocate, options).status();
  // What was on its way when the flag was set may be all that was missing.
  EXPECT_TRUE(status.ok() ? content == written : status.code() == ErrorCode::kAborted) << status.message();
}

TEST_P(ObjectStoreConformance, CountsTheBytesItMoves) {
  std::atomic<int64_t> written = 0;
  std::atomic<int64_t> read = 0;
  const std::string content = RandomContent(3'000'000, 3);
  Put("counted", content, {.progress = [&](int64_t bytes) { written += bytes; }});
  EXPECT_EQ(Get("counted", {.progress = [&](int64_t bytes) { read += bytes; }}), content);
  EXPECT_EQ(written, 3'000'000);
  EXPECT_EQ(read, 3'000'000);
}

TEST_P(ObjectStoreConformance, ReadsManyWithAStatusEach) {
  Put("many/1", "one");
  Put("many/2", "two");
  std::string one(3, '?');
  std::string none(3, '?');
  std::string part(1, '?');
  std::string beyond(4, '?');
  const ObjectRead reads[] = {{"many/1", {0, Memory(one)}},
                              {"many/3", {0, Memory(none)}},
                              {"many/2", {1, Memory(part)}},
                              {"many/2", {0, Memory(beyond)}}};
  EXPECT_THAT(store().ReadMany(reads, {}),
              ElementsAre(IsOk(), HasCode(ErrorCode::kNotFound), IsOk(), HasCode(ErrorCode::kInvalidArgument)));
  EXPECT_EQ(one, "one");
  EXPECT_EQ(part, "w");
}

}  // namespace
}  // namespace assay::storage
