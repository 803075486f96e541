#include "storage/publish_group.h"

#include <atomic>
#include <functional>

#include "storage/decorator/forwarding_store.h"
#include "storage/memory/memory_store.h"
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

/// Writes all but one key, and then tells of nothing.
class SilentStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes> content,
                           const WriteOptions& options) override {
    return key == "b" ? Status::Io("the network is gone") : ForwardingStore::Write(key, content, options);
  }
  Result<std::optional<ObjectInfo>> Stat(const std::string&, CancelFlag) override {
    return Status::Io("the network is gone");
  }
};

TEST_F(PublishGroupTest, WhatTheStoreDoesNotTellMayStand) {
  SilentStore silent(std::make_shared<MemoryStore>("m"));
  const std::vector<ObjectWrite> shards = {
      {"a", AsBytes("one"), &absent_}, {"b", AsBytes("two"), &absent_}, {std::string(1025, 'k'), AsBytes("no key")}};
  Transfers in_order(1);
  const Status failed = PublishGroup(in_order, silent, shards, marker_).status();
  EXPECT_THAT(failed.message(), HasSubstr("the network is gone; 2 of its objects may stand"));
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

/// Objects in memory, behind a network that fails as a test wants it to.
class FailingStore final : public ForwardingStore {
 public:
  FailingStore() : ForwardingStore(std::make_shared<MemoryStore>("test")) {}
  Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes> buffers,
                           const WriteOptions& options) override {
    if (before_write) {
      before_write(key);
    }
    Result<ObjectInfo> written = inner().Write(key, buffers, options);
    return key == loses_answer_of ? Result<ObjectInfo>(Status::Io("cannot write: the connection was reset")) : written;
  }
  Result<std::optional<ObjectInfo>> Stat(const std::string& key, CancelFlag cancel = nullptr) override {
    return key == cannot_stat ? Status::Io("cannot stat: no route") : inner().Stat(key, cancel);
  }
  ObjectStore& beside() { return inner(); }
  bool Exists(const std::string& key) { return inner().Stat(key)->has_value(); }

  std::function<void(const std::string& key)> before_write;
  std::string loses_answer_of;
  std::string cannot_stat;
};

class FailingGroupTest : public testing::Test {
 protected:
  Result<ObjectInfo> Publish(const WriteOptions& options = {}) {
    const std::vector<ObjectWrite> objects = {{"a", AsBytes("first"), &absent_}, {"b", AsBytes("second"), &absent_}};
    return PublishGroup(in_order_, store_, objects, {"marker", AsBytes("all")}, options);
  }

  FailingStore store_;
  Transfers in_order_{1};
  const WriteOptions absent_{.condition = {WriteCondition::Kind::kAbsent}};
};

TEST_F(FailingGroupTest, AMarkerThatStandsThoughItsAnswerWasLostHasPublishedTheGroup) {
  store_.loses_answer_of = "marker";
  EXPECT_THAT(Publish().status(), IsOk());
  EXPECT_TRUE(store_.Exists("marker"));
  EXPECT_TRUE(store_.Exists("a") && store_.Exists("b"));
}

TEST_F(FailingGroupTest, WhereTheMarkerMayStandItsObjectsDo) {
  store_.loses_answer_of = "marker";
  store_.cannot_stat = "marker";
  const Status failed = Publish().status();
  EXPECT_THAT(failed, HasCode(ErrorCode::kIo));
  EXPECT_THAT(failed.message(), HasSubstr("the marker may stand"));
  EXPECT_TRUE(store_.Exists("a") && store_.Exists("b"));
}

TEST_F(FailingGroupTest, ACancelledGroupIsGivenUp) {
  std::atomic<bool> cancel = false;
  store_.before_write = [&cancel](const std::string& key) { cancel = key == "b"; };
  EXPECT_THAT(Publish({.cancel = &cancel}).status(), HasCode(ErrorCode::kAborted));
  EXPECT_THAT(store_.beside().List({})->objects, IsEmpty());
}

TEST_F(FailingGroupTest, WhatAnotherHasWrittenMeanwhileStays) {
  store_.before_write = [this](const std::string& key) {
    const Bytes other = AsBytes("another's");
    if (key == "b") {
      ASSERT_THAT(store_.beside().Remove("a"), IsOk());
      ASSERT_THAT(store_.beside().Write("a", std::span(&other, 1), {}).status(), IsOk());
      ASSERT_THAT(store_.beside().Write("b", std::span(&other, 1), {}).status(), IsOk());
    }
  };
  EXPECT_THAT(Publish().status(), HasCode(ErrorCode::kFailedPrecondition));
  EXPECT_TRUE(store_.Exists("a") && store_.Exists("b"));
}

TEST_F(FailingGroupTest, AKeyIsThatOfOneObject) {
  const ObjectWrite once = {"a", AsBytes("first")};
  const std::vector<ObjectWrite> twice = {once, {"a", AsBytes("second")}};
  EXPECT_THAT(PublishGroup(in_order_, store_, twice, {"marker", AsBytes("all")}).status(),
              HasCode(ErrorCode::kInvalidArgument));
  EXPECT_THAT(PublishGroup(in_order_, store_, std::span(&once, 1), {"a", AsBytes("all")}).status(),
              HasCode(ErrorCode::kInvalidArgument));
  EXPECT_FALSE(store_.Exists("a"));
}

}  // namespace
}  // namespace assay::storage
