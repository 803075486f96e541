// Conformance: removing, copying, composing, presigning.
#include <fmt/format.h>

#include "storage/conformance.h"
#include "storage/remove_below.h"

namespace assay::storage {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST_P(ObjectStoreConformance, RemovesWhatIsThereAndWhatIsNot) {
  Put("gone", "x");
  EXPECT_THAT(store().Remove("gone"), IsOk());
  EXPECT_FALSE(Exists("gone"));
  EXPECT_THAT(store().Remove("gone"), IsOk());
  EXPECT_THAT(store().Remove("never/was"), IsOk());
}

TEST_P(ObjectStoreConformance, RemovesMany) {
  std::vector<std::string> keys;
  std::vector<ObjectWrite> writes;
  for (int i = 0; i < 1100; ++i) {
    keys.push_back("batch/<&> " + std::to_string(i));
  }
  for (const std::string& key : keys) {
    writes.push_back({key, {}});
  }
  EXPECT_THAT(store().WriteMany(writes, {}), Each(IsOk()));
  Put("kept", "x");
  keys.push_back("batch/never was");
  EXPECT_THAT(store().RemoveMany(keys), Each(IsOk()));
  EXPECT_THAT(Keys(), ElementsAre("kept"));
}

TEST_P(ObjectStoreConformance, RemovesJustTheKeysThatWereNamed) {
  for (const std::string key : {"a\rb", "a\nb", "a\x01z", "\xEF\xBF\xBE", "c", "d"}) {
    Put(key, "x");
  }
  const std::vector<std::string> keys = {"a\rb", "a\x01z", "c", "\xEF\xBF\xBE"};
  EXPECT_THAT(store().RemoveMany(keys), Each(IsOk()));
  EXPECT_THAT(Keys(), ElementsAre("a\nb", "d"));
}

TEST_P(ObjectStoreConformance, RemovesAllBelowAPrefixWhileItIsListed) {
  std::vector<ObjectWrite> writes;
  for (int i = 0; i < 1100; ++i) {
    writes.push_back({fmt::format("run/step-{}/{}", i % 7, i), {}});
  }
  EXPECT_THAT(store().WriteMany(writes, {}), Each(IsOk()));
  Put("rung", "x");
  auto writer = store().OpenWriter("run/unfinished", {});
  ASSERT_THAT(writer.status(), IsOk());
  ASSERT_THAT((*writer)->Write(AsBytes(RandomContent(GetParam().unfinished_bytes, 10))), IsOk());
  EXPECT_THAT(RemoveBelow(store(), "run/"), IsOk());
  EXPECT_THAT(Keys(), ElementsAre("rung"));
  EXPECT_THAT(Uploads("run/"), IsEmpty());
}

TEST_P(ObjectStoreConformance, CopiesWithinTheStore) {
  const std::string content = RandomContent(GetParam().large_bytes, 12);
  Put("from/a b+c%", content, {.content_type = "text/plain", .metadata = {{"step", "3"}}});
  const auto info = store().Copy("from/a b+c%", "to/copy", {});
  ASSERT_THAT(info.status(), IsOk());
  EXPECT_EQ(info->size, static_cast<int64_t>(content.size()));
  EXPECT_TRUE(Get("to/copy") == content);
  const auto stat = store().Stat("to/copy");
  ASSERT_TRUE(stat.ok() && stat->has_value());
  EXPECT_EQ((*stat)->content_type, "text/plain");
  EXPECT_THAT(UserMetadata(**stat), ElementsAre(Pair("step", "3")));
  EXPECT_THAT(store().Copy("nothing", "to/none", {}).status(), HasCode(ErrorCode::kNotFound));
  EXPECT_FALSE(Exists("to/none"));
}

TEST_P(ObjectStoreConformance, CopiesWithNewMetadata) {
  Put("source", "x", {.content_type = "text/plain", .metadata = {{"step", "3"}}});
  ASSERT_THAT(store().Copy("source", "copy", {.content_type = "text/html", .metadata = {{"step", "4"}}}).status(),
              IsOk());
  const auto stat = store().Stat("copy");
  ASSERT_TRUE(stat.ok() && stat->has_value());
  EXPECT_EQ((*stat)->content_type, "text/html");
  EXPECT_THAT(UserMetadata(**stat), ElementsAre(Pair("step", "4")));
}

TEST_P(ObjectStoreConformance, CopiesOnlyWhatIsExpected) {
  const std::string content = RandomContent(GetParam().large_bytes, 15);
  Put("from", content);
  for (const ChecksumKind kind : {ChecksumKind::kCrc32c, ChecksumKind::kCrc64Nvme, ChecksumKind::kMd5}) {
    const WriteOptions other = {.expected = ChecksumOf(kind, AsBytes("other"))};
    EXPECT_FALSE(store().Copy("from", "to", other).ok());
    EXPECT_FALSE(store().Compose(std::vector<std::string>{"from", "from"}, "to", other).ok());
    EXPECT_FALSE(Exists("to"));
  }
  EXPECT_THAT(Uploads(), IsEmpty());
}

TEST_P(ObjectStoreConformance, ComposesObjects) {
  if (!store().capabilities().compose) {
    GTEST_SKIP() << "the store does not compose";
  }
  const std::string first = RandomContent(GetParam().large_bytes, 13);
  const std::string last = RandomContent(70'001, 14);
  Put("parts/1", first);
  Put("parts/2", "");
  Put("parts/3", last);
  const std::vector<std::string> sources = {"parts/1", "parts/2", "parts/3", "parts/3"};
  const auto info = store().Compose(sources, "whole", {.content_type = "text/plain", .metadata = {{"a", "b"}}});
  ASSERT_THAT(info.status(), IsOk());
  EXPECT_TRUE(Get("whole") == first + last + last);
  const auto stat = store().Stat("whole");
  ASSERT_TRUE(stat.ok() && stat->has_value());
  EXPECT_EQ((*stat)->content_type, "text/plain");
  EXPECT_THAT(UserMetadata(**stat), ElementsAre(Pair("a", "b")));
  const std::vector<std::string> missing = {"parts/1", "nothing"};
  EXPECT_THAT(store().Compose(missing, "broken", {}).status(), HasCode(ErrorCode::kNotFound));
  EXPECT_FALSE(Exists("broken"));
  const std::vector<std::string> onto_itself = {"parts/3", "parts/3"};
  EXPECT_THAT(store().Compose(onto_itself, "parts/3", {}).status(), IsOk());
  EXPECT_TRUE(Get("parts/3") == last + last);
  EXPECT_THAT(Uploads(), IsEmpty());
}

TEST_P(ObjectStoreConformance, PresignsOrSaysThatItCannot) {
  const auto url = store().Presign("a b/c", "GET", 60);
  if (store().capabilities().presign && GetParam().presigns) {
    ASSERT_THAT(url.status(), IsOk());
    EXPECT_THAT(*url, testing::StartsWith("http"));
    EXPECT_EQ(url->find(' '), std::string::npos);
  } else {
    EXPECT_FALSE(url.ok());
  }
}

}  // namespace
}  // namespace assay::storage
