// Conformance: what writes leave, and what they never leave.
#include <atomic>
#include <thread>

#include "storage/conformance.h"

namespace assay::storage {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

WriteOptions IfAbsent(std::string token = "") {
  return {.condition = {.kind = WriteCondition::Kind::kAbsent}, .write_token = std::move(token)};
}

Result<ObjectInfo> WriteText(ObjectStore& store, const std::string& key, std::string_view text,
                             const WriteOptions& options) {
  const Bytes bytes = AsBytes(text);
  return store.Write(key, std::span(&bytes, 1), options);
}

std::vector<std::string> OddKeys(const ConformanceTarget& target) {
  std::vector<std::string> keys = {"space key",
                                   "plus+plus",
                                   "100%",
                                   "%41%2F%25",
                                   "%e/%o/%l",
                                   "\xC3\xA5r/\xE6\x97\xA5\xE6\x9C\xAC/\xF0\x9F\x98\x80",
                                   "?q=1&x=y;z#part",
                                   "quote\"'<b>&amp;",
                                   "~*(){}[]|\\^`!$,:@=",
                                   "tab\tkey",
                                   ".assay/uploads/x",
                                   "...",
                                   "a",
                                   "a/b",
                                   "a/b/c",
                                   "folder/",
                                   std::string(1024, 'k'),
                                   std::string(300, 'x') + "/" + std::string(300, 'y'),
                                   std::string(240, 'z'),
                                   std::string(240, 'z') + ".",
                                   std::string(240, 'z') + "/b",
                                   std::string(240, 'z') + "0"};
  if (target.keeps_double_slash) {
    keys.insert(keys.end(), {"a//b", "/leading", "//", "trailing//", std::string(1024, '/')});
  }
  if (target.keeps_dot_parts) {
    keys.insert(keys.end(), {".", "..", "../up", "./x", "a/./b", "a/../b", "b/.."});
  }
  return keys;
}

TEST_P(ObjectStoreConformance, TakesEveryLegalKey) {
  const std::vector<std::string> keys = OddKeys(GetParam());
  for (const std::string& key : keys) {
    Put(key, "content of " + key);
  }
  for (const std::string& key : keys) {
    EXPECT_EQ(Get(key), "content of " + key);
    EXPECT_TRUE(Exists(key)) << key;
  }
  std::vector<std::string> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(Keys(), sorted);
  for (const std::string& key : keys) {
    EXPECT_THAT(store().Remove(key), IsOk()) << key;
    EXPECT_FALSE(Exists(key)) << key;
  }
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_P(ObjectStoreConformance, RefusesKeysThatNoStoreTakes) {
  for (const std::string& key : {std::string(), std::string(1025, 'k')}) {
    EXPECT_THAT(WriteText(store(), key, "x", {}).status(), HasCode(ErrorCode::kInvalidArgument));
    EXPECT_THAT(store().Stat(key).status(), HasCode(ErrorCode::kInvalidArgument));
    EXPECT_THAT(store().Remove(key), HasCode(ErrorCode::kInvalidArgument));
  }
}

TEST_P(ObjectStoreConformance, ReplacesAnObject) {
  const ObjectInfo first = Put("replaced", "a longer first version");
  const ObjectInfo second = Put("replaced", "second");
  EXPECT_NE(first.etag, second.etag);
  EXPECT_EQ(second.size, 6);
  EXPECT_EQ(Get("replaced"), "second");
}

TEST_P(ObjectStoreConformance, KeepsContentTypeAndMetadata) {
  Put("described", "x", {.content_type = "text/plain", .metadata = {{"step", "17"}, {"run-name", "a b+c=d"}}});
  const auto info = store().Stat("described");
  ASSERT_TRUE(info.ok() && info->has_value());
  EXPECT_EQ((*info)->content_type, "text/plain");
  EXPECT_THAT(UserMetadata(**info), testing::UnorderedElementsAre(Pair("step", "17"), Pair("run-name", "a b+c=d")));
}

TEST_P(ObjectStoreConformance, JoinsScatteredBuffers) {
  std::string joined;
  std::vector<std::string> parts;
  for (size_t i = 0; i < 700; ++i) {
    parts.push_back(RandomContent(static_cast<int64_t>(i * 13 % 5000), i));
    joined += parts.back();
  }
  const std::vector<Bytes> buffers = [&] {
    std::vector<Bytes> made;
    for (const std::string& part : parts) {
      made.push_back(AsBytes(part));
    }
    return made;
  }();
  const auto info = store().Write("scattered", buffers, {});
  ASSERT_THAT(info.status(), IsOk());
  EXPECT_EQ(info->size, static_cast<int64_t>(joined.size()));
  EXPECT_EQ(Get("scattered"), joined);
}

TEST_P(ObjectStoreConformance, MovesLargeObjectsInParts) {
  const std::string content = RandomContent(GetParam().large_bytes + 1, 5);
  const std::string_view text = content;
  const Bytes buffers[] = {AsBytes(text.substr(0, 100)), AsBytes(text.substr(100, content.size() / 2)),
                           AsBytes(text.substr(100 + content.size() / 2))};
  ASSERT_THAT(store().Write("large", buffers, {}).status(), IsOk());
  EXPECT_TRUE(Get("large") == content);
  EXPECT_THAT(Uploads(), IsEmpty());
}

TEST_P(ObjectStoreConformance, ChecksWhatTheCallerExpects) {
  const std::string content = RandomContent(200'000, 6);
  for (const ChecksumKind kind : {ChecksumKind::kCrc32c, ChecksumKind::kCrc64Nvme, ChecksumKind::kMd5}) {
    const std::string key = "expected/" + std::string(NameOf(kind));
    EXPECT_THAT(WriteText(store(), key, content, {.expected = ChecksumOf(kind, AsBytes("other"))}).status(),
                HasCode(ErrorCode::kIo));
    EXPECT_FALSE(Exists(key));
    EXPECT_THAT(WriteText(store(), key, content, {.expected = ChecksumOf(kind, AsBytes(content))}).status(), IsOk());
    EXPECT_TRUE(Get(key) == content);
  }
}

TEST_P(ObjectStoreConformance, CreatesOnlyWhatIsAbsent) {
  if (!store().capabilities().conditional_create) {
    GTEST_SKIP() << "the store has no conditional create";
  }
  EXPECT_EQ(Put("created", "first", IfAbsent()).size, 5);
  EXPECT_THAT(WriteText(store(), "created", "second", IfAbsent()).status(), HasCode(ErrorCode::kFailedPrecondition));
  EXPECT_EQ(Get("created"), "first");
  ASSERT_THAT(store().Remove("created"), IsOk());
  Put("created", "third", IfAbsent());
  EXPECT_EQ(Get("created"), "third");
}

// The answer of the first attempt was lost: the second finds its own token and knows that it won.
TEST_P(ObjectStoreConformance, KnowsThatItWonByItsToken) {
  if (!store().capabilities().conditional_create) {
    GTEST_SKIP() << "the store has no conditional create";
  }
  const ObjectInfo won = Put("token", "mine", IfAbsent("token-1"));
  const auto again = WriteText(store(), "token", "mine", IfAbsent("token-1"));
  ASSERT_THAT(again.status(), IsOk());
  EXPECT_EQ(again->etag, won.etag);
  EXPECT_THAT(WriteText(store(), "token", "theirs", IfAbsent("token-2")).status(),
              HasCode(ErrorCode::kFailedPrecondition));
  const auto info = store().Stat("token");
  ASSERT_TRUE(info.ok() && info->has_value());
  EXPECT_THAT((*info)->metadata, Contains(Pair("assay-write-token", "token-1")));
}

TEST_P(ObjectStoreConformance, LetsOneOfManyCreatorsWin) {
  if (!store().capabilities().conditional_create) {
    GTEST_SKIP() << "the store has no conditional create";
  }
  for (int round = 0; round < 5; ++round) {
    const std::string key = "race/" + std::to_string(round);
    // Other bytes in each round: a store that lies may answer what it answered to the same bytes elsewhere.
    const auto content = [round](int i) {
      return std::string(1000 + static_cast<size_t>(round), static_cast<char>('0' + i));
    };
    std::atomic<int> winners = 0;
    std::atomic<int> winner = -1;
    {
      std::vector<std::jthread> creators;
      for (int i = 0; i < 6; ++i) {
        creators.emplace_back([&, i] {
          if (WriteText(store(), key, content(i), IfAbsent()).ok()) {
            ++winners;
            winner = i;
          }
        });
      }
    }
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(Get(key), content(winner));
  }
}

TEST_P(ObjectStoreConformance, ReplacesOnlyTheVersionNamed) {
  if (!store().capabilities().conditional_replace) {
    GTEST_SKIP() << "the store has no conditional replace";
  }
  const std::string first = Put("swapped", "first").etag;
  const WriteOptions if_first = {.condition = {.kind = WriteCondition::Kind::kMatches, .etag = first}};
  const auto second = WriteText(store(), "swapped", "second", if_first);
  ASSERT_THAT(second.status(), IsOk());
  EXPECT_THAT(WriteText(store(), "swapped", "third", if_first).status(), HasCode(ErrorCode::kFailedPrecondition));
  EXPECT_EQ(Get("swapped"), "second");
  ASSERT_THAT(store().Remove("swapped"), IsOk());
  EXPECT_FALSE(WriteText(store(), "swapped", "fourth", if_first).ok());
  EXPECT_FALSE(Exists("swapped"));
}

TEST_P(ObjectStoreConformance, LeavesNothingOfACancelledWrite) {
  const std::string content = RandomContent(GetParam().large_bytes, 7);
  Put("cancelled/old", "old");
  std::atomic<bool> cancel = true;
  EXPECT_THAT(WriteText(store(), "cancelled/new", content, {.cancel = &cancel}).status(), HasCode(ErrorCode::kAborted));
  cancel = false;
  const WriteOptions midway = {.cancel = &cancel, .progress = [&](int64_t) { cancel = true; }};
  EXPECT_THAT(WriteText(store(), "cancelled/old", content, midway).status(), HasCode(ErrorCode::kAborted));
  EXPECT_THAT(Keys(), ElementsAre("cancelled/old"));
  EXPECT_EQ(Get("cancelled/old"), "old");
  EXPECT_THAT(Uploads(), IsEmpty());
}

TEST_P(ObjectStoreConformance, WritesAStreamOfUnknownLength) {
  auto writer = store().OpenWriter("streamed", {.content_type = "text/plain", .metadata = {{"a", "b"}}});
  ASSERT_THAT(writer.status(), IsOk());
  std::string content;
  while (static_cast<int64_t>(content.size()) < GetParam().large_bytes) {
    const std::string part = RandomContent(static_cast<int64_t>(1 + content.size() * 7 % 1'500'000), content.size());
    ASSERT_THAT((*writer)->Write(AsBytes(part)), IsOk());
    content += part;
  }
  EXPECT_FALSE(Exists("streamed"));
  const auto info = (*writer)->Commit();
  ASSERT_THAT(info.status(), IsOk());
  EXPECT_EQ(info->size, static_cast<int64_t>(content.size()));
  EXPECT_TRUE(Get("streamed") == content);
  const auto stat = store().Stat("streamed");
  ASSERT_TRUE(stat.ok() && stat->has_value());
  EXPECT_EQ((*stat)->etag, info->etag);
  EXPECT_EQ((*stat)->content_type, "text/plain");
  EXPECT_THAT(UserMetadata(**stat), ElementsAre(Pair("a", "b")));
  EXPECT_THAT(Uploads(), IsEmpty());
}

TEST_P(ObjectStoreConformance, WritesShortAndEmptyStreams) {
  for (const std::string content : {"", "short"}) {
    auto writer = store().OpenWriter("stream/" + content, {});
    ASSERT_THAT(writer.status(), IsOk());
    EXPECT_THAT((*writer)->Write(AsBytes(content)), IsOk());
    EXPECT_THAT((*writer)->Commit().status(), IsOk());
    EXPECT_EQ(Get("stream/" + content), content);
  }
}

TEST_P(ObjectStoreConformance, CommitsAStreamOnItsCondition) {
  if (!store().capabilities().conditional_create) {
    GTEST_SKIP() << "the store has no conditional create";
  }
  const std::string content = RandomContent(GetParam().large_bytes, 8);
  for (const std::string_view text : {std::string_view("short"), std::string_view(content)}) {
    auto first = store().OpenWriter("stream", IfAbsent());
    auto second = store().OpenWriter("stream", IfAbsent());
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_THAT((*first)->Write(AsBytes(text)), IsOk());
    EXPECT_THAT((*second)->Write(AsBytes(text)), IsOk());
    EXPECT_THAT((*second)->Commit().status(), IsOk());
    if (GetParam().checks_at_commit) {
      EXPECT_THAT((*first)->Commit().status(), HasCode(ErrorCode::kFailedPrecondition));
    }
    ASSERT_THAT(store().Remove("stream"), IsOk());
  }
  EXPECT_THAT(Uploads(), IsEmpty());
}

TEST_P(ObjectStoreConformance, ForgetsStreamsThatAreNotCommitted) {
  const std::string content = RandomContent(GetParam().large_bytes, 9);
  Put("kept", "old");
  {
    auto dropped = store().OpenWriter("kept", {});
    ASSERT_THAT(dropped.status(), IsOk());
    EXPECT_THAT((*dropped)->Write(AsBytes(content)), IsOk());
  }
  auto aborted = store().OpenWriter("new", {});
  ASSERT_THAT(aborted.status(), IsOk());
  EXPECT_THAT((*aborted)->Write(AsBytes(content)), IsOk());
  (*aborted)->Abort();
  EXPECT_FALSE((*aborted)->Commit().ok());
  EXPECT_THAT(Keys(), ElementsAre("kept"));
  EXPECT_EQ(Get("kept"), "old");
  EXPECT_THAT(Uploads(), IsEmpty());
}

TEST_P(ObjectStoreConformance, ListsAndAbortsUnfinishedUploads) {
  if (!store().capabilities().unfinished_uploads || !GetParam().lists_uploads) {
    GTEST_SKIP() << "the store shows no unfinished uploads";
  }
  const std::string key = "uploads/a b+c%";
  auto writer = store().OpenWriter(key, {});
  ASSERT_THAT(writer.status(), IsOk());
  ASSERT_THAT((*writer)->Write(AsBytes(RandomContent(GetParam().unfinished_bytes, 10))), IsOk());
  const auto uploads = Uploads("uploads/");
  ASSERT_EQ(uploads.size(), 1u);
  EXPECT_EQ(uploads.front().key, key);
  EXPECT_GT(uploads.front().started, 1.6e9);
  EXPECT_THAT(Uploads("elsewhere/"), IsEmpty());
  EXPECT_THAT(store().AbortUpload(key, "0123456789abcdef0123456789abcdef"), HasCode(ErrorCode::kNotFound));
  EXPECT_THAT(store().AbortUpload(key, uploads.front().upload_id), IsOk());
  EXPECT_THAT(Uploads(), IsEmpty());
  EXPECT_FALSE((*writer)->Commit().ok());
  EXPECT_FALSE(Exists(key));
}

TEST_P(ObjectStoreConformance, WritesManyWithAStatusEach) {
  std::vector<std::string> contents;
  std::vector<ObjectWrite> writes;
  for (int i = 0; i < 50; ++i) {
    contents.push_back(RandomContent(i * 100, static_cast<uint64_t>(i)));
  }
  for (size_t i = 0; i < contents.size(); ++i) {
    writes.push_back({"many/" + std::to_string(i), AsBytes(contents[i])});
  }
  writes.push_back({std::string(1025, 'k'), AsBytes(contents[1])});
  const std::vector<Status> statuses = store().WriteMany(writes, {});
  ASSERT_EQ(statuses.size(), 51u);
  EXPECT_THAT(statuses.back(), HasCode(ErrorCode::kInvalidArgument));
  for (size_t i = 0; i < contents.size(); ++i) {
    EXPECT_THAT(statuses[i], IsOk());
    EXPECT_EQ(Get(writes[i].key), contents[i]);
  }
}

TEST_P(ObjectStoreConformance, ComparesManyWithWhatIsExpected) {
  const std::vector<ObjectWrite> writes = {{"same", AsBytes("content")}, {"other", AsBytes("another")}};
  const std::vector<Status> statuses =
      store().WriteMany(writes, {.expected = ChecksumOf(ChecksumKind::kCrc32c, AsBytes("content"))});
  EXPECT_THAT(statuses, testing::ElementsAre(IsOk(), HasCode(ErrorCode::kIo)));
  EXPECT_EQ(Get("same"), "content");
  EXPECT_FALSE(Exists("other"));
}

}  // namespace
}  // namespace assay::storage
