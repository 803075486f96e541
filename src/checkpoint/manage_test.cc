#include "checkpoint/manage.h"

#include "checkpoint/convert.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/testing.h"
#include "storage/decorator/counting_store.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/store_checks.h"

namespace assay::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ManageTest : public testing::Test {
 protected:
  void Save(const std::string& key, std::optional<int64_t> step, std::map<std::string, double> metrics = {}) {
    ConvertOptions options = {.format = Format::kDcp};
    options.save.step = step;
    options.save.metrics = std::move(metrics);
    ASSERT_TRUE(Convert(CheckpointOf(StateOf(1)), {store_, key, true, nullptr}, options).ok());
  }
  void Put(const std::string& key, const std::string& content) {
    const storage::Bytes bytes = std::as_bytes(std::span(content));
    ASSERT_TRUE(store_->Write(key, std::span(&bytes, 1), {}).ok());
  }
  Listing List() { return Must(ListCheckpoints({store_, "run/", true, nullptr})); }
  std::vector<std::string> Uris() {
    std::vector<std::string> uris;
    for (const ListedCheckpoint& listed : List().checkpoints) {
      uris.push_back(listed.uri);
    }
    return uris;
  }
  std::vector<std::string> Removed(const RetentionOptions& options) {
    std::vector<std::string> uris;
    const Result<std::vector<ListedCheckpoint>> removed = ToRemove(List(), options);
    EXPECT_TRUE(removed.ok()) << removed.status().message();
    for (const ListedCheckpoint& listed : *removed) {
      uris.push_back(listed.uri);
    }
    return uris;
  }

  std::shared_ptr<storage::ObjectStore> store_ = std::make_shared<storage::MemoryStore>("test");
};

TEST_F(ManageTest, ListsByStep) {
  Save("run/step-10/", std::nullopt);
  Save("run/step-9/", std::nullopt);
  Save("run/other/", 9);
  EXPECT_THAT(Uris(), ElementsAre("mem://test/run/step-9/", "mem://test/run/other/", "mem://test/run/step-10/"));
}

TEST_F(ManageTest, ListsNothingThatIsNotWhole) {
  Save("run/a/", 1);
  Save("run/b/", 2);
  Put("run/c/.metadata", "no pickle");
  Put("run/notes.txt", "x");
  ASSERT_TRUE(store_->Remove("run/a/__0_0.distcp").ok());
  const Listing listing = List();
  ASSERT_EQ(listing.checkpoints.size(), 1u);
  EXPECT_EQ(listing.checkpoints[0].step, 2);
  ASSERT_EQ(listing.others.size(), 2u);
  EXPECT_THAT(listing.others[0].why.message(), HasSubstr("__0_0.distcp is missing"));
}

TEST_F(ManageTest, FilesOfTrainingBesideWeightsAreNoCheckpoints) {
  ConvertOptions options = {.format = Format::kSafetensors};
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(1)), {store_, "run/checkpoint-5/", true, nullptr}, options).ok());
  Put("run/checkpoint-5/optimizer.pt", "x");
  Put("run/checkpoint-5/rng_state.pth", "x");
  const Listing listing = List();
  ASSERT_EQ(listing.checkpoints.size(), 1u);
  EXPECT_EQ(listing.checkpoints[0].step, 5);
  EXPECT_THAT(listing.others, IsEmpty());
}

TEST_F(ManageTest, KeepsTheLastAndTheBest) {
  for (int step = 1; step <= 5; ++step) {
    Save("run/step-" + std::to_string(step) + "/", step, {{"loss", step == 2 ? 0.1 : step}, {"accuracy", step * 0.1}});
  }
  EXPECT_THAT(Removed({.keep_last = 2}),
              ElementsAre("mem://test/run/step-1/", "mem://test/run/step-2/", "mem://test/run/step-3/"));
  EXPECT_THAT(Removed({.keep_last = 1, .keep_best = 2, .metric = "loss"}),
              ElementsAre("mem://test/run/step-3/", "mem://test/run/step-4/"));
  EXPECT_THAT(Removed({.keep_best = 4, .metric = "accuracy", .highest_is_best = true}),
              ElementsAre("mem://test/run/step-1/"));
  EXPECT_THAT(ErrorOf(ToRemove(List(), {.keep_best = 1, .metric = "speed"})), HasSubstr("'speed'"));
  EXPECT_THAT(ErrorOf(ToRemove(List(), {})), HasSubstr("keeps nothing"));
}

TEST_F(ManageTest, SavesWithoutTheMetricGoByTheirStepsAlone) {
  Save("run/step-1/", 1, {{"loss", 1}});
  Save("run/step-2/", 2, {{"loss", 2}});
  Save("run/step-3/", 3);
  EXPECT_THAT(Removed({.keep_best = 1, .metric = "loss"}), ElementsAre("mem://test/run/step-2/"));
  EXPECT_THAT(Removed({.keep_last = 1, .keep_best = 1, .metric = "loss"}), ElementsAre("mem://test/run/step-2/"));
}

TEST_F(ManageTest, WhatWasSavedSinceItWasFoundIsNotRemoved) {
  const Place place = {store_, "run/step-1/", true, nullptr};
  Save("run/step-1/", 1);
  const Found replaced = *Must(FindCheckpoint(place));
  ConvertOptions replacing = {.format = Format::kDcp};
  replacing.save.overwrite = true;
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(2)), place, replacing).ok());
  EXPECT_THAT(ErrorOf(RemoveCheckpoint(replaced)), HasSubstr("replaced meanwhile"));
  EXPECT_THAT(Uris(), ElementsAre("mem://test/run/step-1/"));

  // Another one removes it, and one that is being saved takes its names.
  const Found removed = *Must(FindCheckpoint(place));
  ASSERT_TRUE(RemoveCheckpoint(removed).ok());
  const std::string name = removed.manifest->files.back().name;
  Put("run/step-1/" + name, "of a save under way");
  ASSERT_TRUE(RemoveCheckpoint(removed).ok());
  EXPECT_TRUE(ContentOf(*store_).contains("run/step-1/" + name));
}

TEST_F(ManageTest, OneThatStaysKeepsNoneOfTheOthers) {
  class HoldingStore final : public storage::ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Status Remove(const std::string& key) override {
      return key == "run/step-1/.metadata" ? Status::Io("503 Slow Down") : ForwardingStore::Remove(key);
    }
  };
  Save("run/step-1/", 1);
  Save("run/step-2/", 2);
  const Place holding = {std::make_shared<HoldingStore>(store_), "run/", true, nullptr};
  const std::vector<Status> ends = RemoveCheckpoints(Must(ListCheckpoints(holding)).checkpoints);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_THAT(ErrorOf(ends[0]), HasSubstr("503"));
  EXPECT_TRUE(ends[1].ok());
  EXPECT_THAT(Uris(), ElementsAre("mem://test/run/step-1/"));
}

TEST_F(ManageTest, AnIndexOfOthersRemovesNothingButItsShards) {
  const Place place = {store_, "run/", true, nullptr};
  ConvertOptions replacing = {.format = Format::kSafetensors, .ranks = 2};
  replacing.save.overwrite = true;
  for (const char* other : {"README.md", "step-10/model.safetensors"}) {
    Put("run/model.safetensors.index.json",
        std::string(R"({"weight_map": {"a": "model-00001-of-00001.safetensors",)") + R"("b": ")" + other + "\"}}");
    EXPECT_THAT(ErrorOf(RemoveCheckpoint(*Must(FindCheckpoint(place)))), HasSubstr(other));
    EXPECT_THAT(ErrorOf(Convert(CheckpointOf(StateOf(1)), place, replacing)), HasSubstr(other));
    EXPECT_TRUE(ContentOf(*store_).contains("run/model.safetensors.index.json"));
  }
  Put("run/model-00001-of-00001.safetensors", "x");
  Put("run/README.md", "x");
  Put("run/model.safetensors.index.json", R"({"weight_map": {"a": "model-00001-of-00001.safetensors"}})");
  ASSERT_TRUE(RemoveCheckpoint(*Must(FindCheckpoint(place))).ok());
  EXPECT_THAT(ContentOf(*store_), ElementsAre(testing::Pair("run/README.md", "x")));
}

TEST_F(ManageTest, MetadataOfOthersRemovesNothingButItsData) {
  const Place place = {store_, "run/", true, nullptr};
  Save("run/step-10/", 10);
  ConvertOptions replacing = {.format = Format::kDcp};
  replacing.save.overwrite = true;
  const std::string data = "step-10/__0_0.distcp";
  for (const std::string& other : {std::string("README.md"), std::string("step-10/.metadata"), data}) {
    DcpMetadata metadata;
    DcpEntry& entry = metadata.entries.emplace_back(DcpEntry{.name = "n", .path = {std::string("n")}});
    entry.chunks = {{{}, {other, 0, 1}}};
    Put("run/.metadata", WriteDcpMetadata(metadata));
    const std::string named = other == data ? "files of step-10/" : other;
    EXPECT_THAT(ErrorOf(RemoveCheckpoint(*Must(FindCheckpoint(place)))), HasSubstr(named));
    EXPECT_THAT(ErrorOf(Convert(CheckpointOf(StateOf(1)), place, replacing)), HasSubstr(named));
  }
  DcpMetadata metadata;
  DcpEntry& entry = metadata.entries.emplace_back(DcpEntry{.name = "n", .path = {std::string("n")}});
  entry.chunks = {{{}, {"part/__0_0.distcp", 0, 1}}};
  Put("run/.metadata", WriteDcpMetadata(metadata));
  Put("run/part/__0_0.distcp", "x");
  ASSERT_TRUE(RemoveCheckpoint(*Must(FindCheckpoint(place))).ok());
  EXPECT_THAT(ContentOf(*store_), testing::SizeIs(3)) << "step-10 is whole";
}

TEST_F(ManageTest, WhatTheStoreDoesNotGiveIsNotCalledDamaged) {
  /// It fails whoever reads .metadata.
  class FailingStore final : public storage::ForwardingStore {
   public:
    FailingStore(std::shared_ptr<storage::ObjectStore> inner, Status failure)
        : ForwardingStore(std::move(inner)), failure_(std::move(failure)) {}
    Result<storage::ObjectInfo> Read(const std::string& key, std::span<const storage::ReadPiece> pieces,
                                     const storage::ReadOptions& options) override {
      return key.ends_with(".metadata") ? Result<storage::ObjectInfo>(failure_)
                                        : ForwardingStore::Read(key, pieces, options);
    }

   private:
    const Status failure_;
  };
  Save("run/a/", 1);
  Save("run/b/", 2);
  ASSERT_TRUE(store_->Remove("run/b/__0_0.distcp").ok());
  EXPECT_TRUE(Must(IsDamaged({store_, "run/b/", true, nullptr})));
  EXPECT_FALSE(List().others.front().is_unknown());
  const auto failing = [&](Status failure) {
    return Place{std::make_shared<FailingStore>(store_, std::move(failure)), "run/a/", true, nullptr};
  };
  EXPECT_THAT(ErrorOf(IsDamaged(failing(Status::Io("503 Slow Down")))), HasSubstr("503"));
  EXPECT_THAT(ErrorOf(IsDamaged(failing(storage::ChangedObjectStatus("m", "1", "2")))), HasSubstr("it changed"));
  const Status archived = Status::FailedPrecondition("cannot read m: 403 InvalidObjectState: it is archived");
  EXPECT_TRUE(Must(IsDamaged(failing(archived)))) << "nobody can go on from it now";
  const storage::Checksum one = storage::ChecksumOf(storage::ChecksumKind::kCrc32c, {});
  EXPECT_TRUE(Must(IsDamaged(failing(storage::ChecksumMismatchStatus("read", "m", one, one)))));
}

TEST_F(ManageTest, WhatIsCommittedWhileLeftoversAreLookedForIsNone) {
  /// Another save is committed when the first list was answered.
  class BusyStore final : public storage::ForwardingStore {
   public:
    BusyStore(std::shared_ptr<storage::ObjectStore> inner, std::string pointer)
        : ForwardingStore(std::move(inner)), pointer_(std::move(pointer)) {}
    Result<storage::ListPage> List(const storage::ListOptions& options) override {
      Result<storage::ListPage> page = ForwardingStore::List(options);
      if (!pointer_.empty()) {
        const storage::Bytes bytes = std::as_bytes(std::span(pointer_));
        EXPECT_TRUE(Write("run/a/.metadata", std::span(&bytes, 1), {}).ok());
        pointer_.clear();
      }
      return page;
    }

   private:
    std::string pointer_;
  };
  Save("run/a/", 1);
  const std::string pointer = ContentOf(*store_).at("run/a/.metadata");
  ASSERT_TRUE(store_->Remove("run/a/.metadata").ok());
  const auto busy = std::make_shared<BusyStore>(store_, pointer);
  EXPECT_THAT(Must(FindLeftovers({busy, "run/", true, nullptr}, -1)), IsEmpty());
}

TEST_F(ManageTest, APlaceIsListedOnceMoreOnlyWhereSomethingMayBeLeft) {
  Save("run/a/", 1);
  Put("run/notes.txt", "somebody's");
  const auto counters = std::make_shared<storage::StoreCounters>();
  const auto counting = std::make_shared<storage::CountingStore>(store_, counters);
  const Place place{counting, "run/", true, nullptr};
  const Listing looked = Must(ListCheckpoints(place));
  const int64_t lists = counters->Snapshot().operations["list"].calls;
  EXPECT_THAT(Must(FindLeftovers(place, looked, -1)), IsEmpty());
  EXPECT_EQ(counters->Snapshot().operations["list"].calls, lists);
  ASSERT_TRUE(store_->Remove("run/a/.metadata").ok());
  EXPECT_EQ(Must(FindLeftovers(place, Must(ListCheckpoints(place)), -1)).size(), 2u);
}

TEST_F(ManageTest, LeftoversAreOnlyOurs) {
  Save("run/a/", 1);
  Put("run/a/__9_0.distcp", "somebody's");
  Put("run/b/__0_0.distcp", "somebody's");
  EXPECT_THAT(Must(FindLeftovers({store_, "run/", true, nullptr}, -1)), IsEmpty());
  ASSERT_TRUE(store_->Remove("run/a/.metadata").ok());
  const auto leftovers = Must(FindLeftovers({store_, "run/", true, nullptr}, -1));
  EXPECT_EQ(leftovers.size(), 2u) << "its file and its manifest";
  EXPECT_THAT(Must(FindLeftovers({store_, "run/", true, nullptr}, 3600)), IsEmpty()) << "a save may still run";
}

}  // namespace
}  // namespace assay::checkpoint
