#include "storage/publish_group.h"

#include "storage/served_store.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class PublishGroupTest : public testing::Test {
 protected:
  /// Objects of a part and more, so that some are under way when another fails.
  std::vector<ObjectWrite> Shards(const WriteOptions* options) const {
    std::vector<ObjectWrite> shards;
    for (int shard = 0; shard < 6; ++shard) {
      shards.push_back({"step/" + std::to_string(shard), AsBytes(content_), options});
    }
    return shards;
  }
  bool Exists(const std::string& key) { return store().Stat(key)->has_value(); }
  ObjectStore& store() { return served_.store(); }

  ServedStore served_{"s3://test/"};
  const std::string content_ = RandomContent(7 << 20, 1);
  const WriteOptions absent_{.condition = {WriteCondition::Kind::kAbsent}};
  const ObjectWrite marker_{"step/marker", AsBytes("all")};
  Transfers transfers_{3};
};

TEST_F(PublishGroupTest, TheMarkerStandsOnceAllDo) {
  const auto shards = Shards(nullptr);
  const auto published = PublishGroup(transfers_, store(), shards, marker_);
  ASSERT_THAT(published.status(), IsOk());
  EXPECT_EQ(published->size, 3);
  for (const ObjectWrite& shard : shards) {
    EXPECT_TRUE(Exists(shard.key));
  }
  EXPECT_TRUE(Exists("step/marker"));
}

TEST_F(PublishGroupTest, AFailureLeavesNeitherMarkerNorWhatWasNew) {
  auto shards = Shards(&absent_);
  shards.insert(shards.begin() + 4, {std::string(1025, 'k'), AsBytes("no key")});
  const auto published = PublishGroup(transfers_, store(), shards, marker_);
  EXPECT_THAT(published.status(), HasCode(ErrorCode::kInvalidArgument));
  EXPECT_THAT(published.status().message(), HasSubstr("cannot publish s3://test/step/marker: "));
  EXPECT_THAT(store().List({})->objects, IsEmpty());
}

TEST_F(PublishGroupTest, WhatMayHaveReplacedOthersStays) {
  std::vector<ObjectWrite> shards = {{"old", AsBytes("new")}, {std::string(1025, 'k'), AsBytes("no key")}};
  Transfers in_order(1);
  const auto published = PublishGroup(in_order, store(), shards, marker_);
  EXPECT_THAT(published.status().message(), HasSubstr("; 1 of its objects stand without it"));
  EXPECT_TRUE(Exists("old"));
  EXPECT_FALSE(Exists("step/marker"));
}

TEST_F(PublishGroupTest, AMarkerThatIsThereRefusesTheGroup) {
  ASSERT_THAT(PublishGroup(transfers_, store(), {}, marker_).status(), IsOk());
  const std::vector<ObjectWrite> shards = {{"again", AsBytes("content"), &absent_}};
  const ObjectWrite again = {"step/marker", AsBytes("other"), &absent_};
  EXPECT_THAT(PublishGroup(transfers_, store(), shards, again).status(), HasCode(ErrorCode::kFailedPrecondition));
  EXPECT_FALSE(Exists("again"));
}

}  // namespace
}  // namespace assay::storage
