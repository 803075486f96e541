#include "checkpoint/copy_checkpoint.h"

#include <gmock/gmock.h>

#include <functional>
#include <future>
#include <thread>

#include "checkpoint/convert.h"
#include "checkpoint/save_mark.h"
#include "checkpoint/testing.h"
#include "checkpoint/verify.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/memory/memory_store.h"

namespace assay::checkpoint {
namespace {

using ::testing::HasSubstr;

class CopyCheckpointTest : public ::testing::Test {
 protected:
  CopyCheckpointTest() {
    ConvertOptions options = {.format = Format::kDcp, .ranks = 2};
    options.save.step = 7;
    options.save.metrics["loss"] = 0.5;
    EXPECT_TRUE(Convert(CheckpointOf(StateOf(1)), from_, options).ok());
    found_ = *Must(FindCheckpoint(from_));
  }

  Place from_ = {std::make_shared<storage::MemoryStore>("test"), "a/", true};
  Place to_ = {std::make_shared<storage::MemoryStore>("test"), "a/", true};
  Found found_;
};

TEST_F(CopyCheckpointTest, ObjectsAreTheSame) {
  const Manifest copied = Must(CopyCheckpoint(found_, to_, {}));
  EXPECT_EQ(copied.id, found_.id);
  EXPECT_EQ(copied.step, 7);
  EXPECT_EQ(copied.metrics.at("loss"), 0.5);
  std::map<std::string, std::string> from = ContentOf(*from_.store);
  std::map<std::string, std::string> to = ContentOf(*to_.store);
  // A manifest tells the time of its save.
  const std::string manifest = "a/" + found_.manifest_name;
  EXPECT_EQ(from.erase(manifest), 1U);
  EXPECT_EQ(to.erase(manifest), 1U);
  EXPECT_EQ(from, to);
  const Found there = *Must(FindCheckpoint(to_));
  ASSERT_NE(there.manifest, nullptr);
  for (const ManifestFile& file : found_.manifest->files) {
    const ManifestFile* other = there.manifest->Find(file.name);
    ASSERT_NE(other, nullptr) << file.name;
    EXPECT_EQ(other->segments, file.segments);
    EXPECT_EQ(other->items.size(), file.items.size());
  }
}

TEST_F(CopyCheckpointTest, WhatAKilledCopyLeftIsReplaced) {
  ASSERT_TRUE(CopyCheckpoint(found_, to_, {}).ok());
  ASSERT_TRUE(to_.store->Remove("a/.metadata").ok());
  ASSERT_TRUE(to_.store->Remove("a/__1_0.distcp").ok());
  ASSERT_TRUE(CopyCheckpoint(found_, to_, {}).ok());
  EXPECT_TRUE(OpenCheckpoint(to_).ok());
}

TEST_F(CopyCheckpointTest, WhatAKilledCopyLeftUnmarkedIsReplacedToo) {
  const std::string half = "half of a file";
  const storage::Bytes span = std::as_bytes(std::span(half));
  ASSERT_TRUE(to_.store->Write("a/__0_0.distcp", std::span(&span, 1), {}).ok());
  ASSERT_TRUE(to_.store->Write("a/" + found_.manifest_name, std::span(&span, 1), {}).ok());
  ASSERT_TRUE(to_.store->Write("a/other", std::span(&span, 1), {}).ok());
  ASSERT_TRUE(CopyCheckpoint(found_, to_, {}).ok());
  EXPECT_TRUE(OpenCheckpoint(to_).ok());
  EXPECT_EQ(ContentOf(*to_.store).at("a/other"), half);
}

TEST_F(CopyCheckpointTest, WhatAKilledCopyLeftInAFolderBelowIsReplaced) {
  // The names of what lies at the place are taken: the save takes a folder of its own.
  const std::string half = "half of a file";
  const storage::Bytes span = std::as_bytes(std::span(half));
  from_.store = std::make_shared<storage::MemoryStore>("test");
  ASSERT_TRUE(from_.store->Write("a/__0_0.distcp", std::span(&span, 1), {}).ok());
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(1)), from_, {.format = Format::kDcp, .ranks = 2}).ok());
  found_ = *Must(FindCheckpoint(from_));
  const std::string folder = "save-" + found_.id + "/";
  ASSERT_NE(found_.manifest->Find(folder + "__1_0.distcp"), nullptr);
  ASSERT_TRUE(CopyCheckpoint(found_, to_, {}).ok());
  ASSERT_TRUE(to_.store->Remove("a/.metadata").ok());
  ASSERT_TRUE(to_.store->Remove("a/" + folder + "__0_0.distcp").ok());
  const Result<Manifest> copied = CopyCheckpoint(found_, to_, {});
  ASSERT_TRUE(copied.ok()) << copied.status().message();
  EXPECT_TRUE(OpenCheckpoint(to_).ok());
}

TEST_F(CopyCheckpointTest, ASaveUnderWayInAFolderBelowKeepsItsFiles) {
  // It has written files of data, and begun one that is sent in parts; nothing names them yet.
  const std::string half = "half of a file";
  const storage::Bytes span = std::as_bytes(std::span(half));
  storage::WriteOptions marked;
  marked.metadata[kSaveIdMetadata] = "77";
  ASSERT_TRUE(to_.store->Write("a/below/__0_0.distcp", std::span(&span, 1), marked).ok());
  const auto begun = Must(to_.store->OpenWriter("a/below/__1_0.distcp", marked));
  ASSERT_TRUE(begun->Write(span).ok());
  // What a killed copy left makes this one look for it.
  ASSERT_TRUE(to_.store->Write("a/" + found_.manifest_name, std::span(&span, 1), {}).ok());
  ASSERT_TRUE(CopyCheckpoint(found_, to_, {}).ok());
  EXPECT_TRUE(begun->Commit().ok());
  EXPECT_EQ(ContentOf(*to_.store).at("a/below/__0_0.distcp"), half);
  EXPECT_EQ(ContentOf(*to_.store).at("a/below/__1_0.distcp"), half);
}

TEST_F(CopyCheckpointTest, AManifestThatIsAllThatIsLeftIsReplaced) {
  ASSERT_TRUE(CopyCheckpoint(found_, to_, {}).ok());
  for (const std::string name : {"a/.metadata", "a/__0_0.distcp", "a/__1_0.distcp"}) {
    ASSERT_TRUE(to_.store->Remove(name).ok());
  }
  const Result<Manifest> copied = CopyCheckpoint(found_, to_, {});
  ASSERT_TRUE(copied.ok()) << copied.status().message();
  EXPECT_TRUE(OpenCheckpoint(to_).ok());
}

TEST_F(CopyCheckpointTest, ADamagedCopyIsReplaced) {
  const std::string half = "half of a file";
  const storage::Bytes span = std::as_bytes(std::span(half));
  for (const std::string& name : {std::string("__0_0.distcp"), std::string(".metadata"), found_.manifest_name}) {
    for (const bool is_gone : {true, false}) {
      if (is_gone && name == found_.manifest_name) {
        continue;  // as another program would have written it
      }
      to_.store = std::make_shared<storage::MemoryStore>("test");
      ASSERT_TRUE(CopyCheckpoint(found_, to_, {}).ok());
      ASSERT_TRUE(is_gone ? to_.store->Remove("a/" + name).ok()
                          : to_.store->Write("a/" + name, std::span(&span, 1), {}).ok());
      const Result<Manifest> copied = CopyCheckpoint(found_, to_, {.overwrite = true});
      ASSERT_TRUE(copied.ok()) << name << ": " << copied.status().message();
      EXPECT_TRUE(OpenCheckpoint(to_).ok()) << name;
      EXPECT_EQ(ContentOf(*to_.store).size(), ContentOf(*from_.store).size()) << name;
    }
  }
}

TEST_F(CopyCheckpointTest, ADamagedCheckpointOfAnotherSaveIsReplaced) {
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(2)), to_, {.format = Format::kDcp, .ranks = 3}).ok());
  ASSERT_TRUE(to_.store->Remove("a/__1_0.distcp").ok());
  ASSERT_TRUE(CopyCheckpoint(found_, to_, {.overwrite = true}).ok());
  EXPECT_EQ(ContentOf(*to_.store).size(), ContentOf(*from_.store).size());
  EXPECT_EQ((*Must(FindCheckpoint(to_))).id, found_.id);
}

TEST_F(CopyCheckpointTest, ACopyWithAFlippedBitIsReplaced) {
  ASSERT_TRUE(CopyCheckpoint(found_, to_, {}).ok());
  std::string bytes = ContentOf(*to_.store).at("a/__0_0.distcp");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  const storage::Bytes span = std::as_bytes(std::span(bytes));
  ASSERT_TRUE(to_.store->Write("a/__0_0.distcp", std::span(&span, 1), {}).ok());
  ASSERT_TRUE(CopyCheckpoint(found_, to_, {.overwrite = true}).ok());
  EXPECT_EQ(ContentOf(*to_.store).at("a/__0_0.distcp"), ContentOf(*from_.store).at("a/__0_0.distcp"));
}

TEST_F(CopyCheckpointTest, AWholeCheckpointWithTheSameNamesStaysThoughItMayBeReplaced) {
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(2)), to_, {.format = Format::kDcp}).ok());
  const std::map<std::string, std::string> before = ContentOf(*to_.store);
  EXPECT_FALSE(CopyCheckpoint(found_, to_, {.overwrite = true}).ok());
  EXPECT_EQ(ContentOf(*to_.store), before);
}

/// Tells what it is asked to do before it does it.
class TellingStore final : public storage::ForwardingStore {
 public:
  TellingStore(std::shared_ptr<storage::ObjectStore> inner, std::function<void(const std::string& what)> tell)
      : ForwardingStore(std::move(inner)), tell_(std::move(tell)) {}

  Result<std::optional<storage::ObjectInfo>> Stat(const std::string& key, storage::CancelFlag cancel) override {
    tell_("stat " + key);
    return ForwardingStore::Stat(key, cancel);
  }
  Result<storage::ObjectInfo> Write(const std::string& key, std::span<const storage::Bytes> buffers,
                                    const storage::WriteOptions& options) override {
    tell_("write " + key);
    return ForwardingStore::Write(key, buffers, options);
  }
  Status AbortUpload(const std::string& key, const std::string& upload_id, storage::CancelFlag cancel) override {
    tell_("abort " + key);
    return ForwardingStore::AbortUpload(key, upload_id, cancel);
  }

 private:
  std::function<void(const std::string&)> tell_;
};

TEST_F(CopyCheckpointTest, ACopyThatIsCommittedMeanwhileIsWhole) {
  const Place other_from = {std::make_shared<storage::MemoryStore>("test"), "a/", true};
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(2)), other_from, {.format = Format::kDcp, .ranks = 2}).ok());
  const Found other = *Must(FindCheckpoint(other_from));
  for (const std::string moment : {"stat a/__0_0.distcp", "abort a/.metadata"}) {
    to_.store = std::make_shared<storage::MemoryStore>("test");
    std::promise<void> is_near;
    std::promise<void> may_commit;
    Place of_other = to_;
    of_other.store = std::make_shared<TellingStore>(to_.store, [&](const std::string& what) {
      if (what.starts_with("write a/manifest-")) {
        is_near.set_value();
        may_commit.get_future().wait();
      }
    });
    std::thread commits([&] { EXPECT_TRUE(CopyCheckpoint(other, of_other, {}).ok()); });
    is_near.get_future().wait();
    Place of_own = to_;
    of_own.store = std::make_shared<TellingStore>(to_.store, [&](const std::string& what) {
      if (what == moment && commits.joinable()) {
        may_commit.set_value();
        commits.join();
      }
    });
    const Result<Manifest> copied = CopyCheckpoint(found_, of_own, {});
    ASSERT_FALSE(commits.joinable()) << moment;
    const Found there = *Must(FindCheckpoint(to_));
    // At the first moment nothing was removed yet: who told that it had saved keeps what it saved.
    EXPECT_EQ(copied.ok(), moment != "stat a/__0_0.distcp") << moment;
    EXPECT_EQ(there.id, copied.ok() ? found_.id : other.id) << moment;
    EXPECT_THAT(Must(Verify(there, {})).damages, ::testing::IsEmpty()) << moment;
  }
}

TEST_F(CopyCheckpointTest, AnotherCheckpointStays) {
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(2)), to_, {.format = Format::kDcp}).ok());
  const std::map<std::string, std::string> before = ContentOf(*to_.store);
  EXPECT_THAT(ErrorOf(CopyCheckpoint(found_, to_, {})), HasSubstr("holds a checkpoint already"));
  EXPECT_EQ(ContentOf(*to_.store), before);
}

TEST_F(CopyCheckpointTest, DamageIsNotCopied) {
  std::string bytes = ContentOf(*from_.store).at("a/__0_0.distcp");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  const storage::Bytes span = std::as_bytes(std::span(bytes));
  ASSERT_TRUE(from_.store->Write("a/__0_0.distcp", std::span(&span, 1), {}).ok());
  EXPECT_THAT(ErrorOf(CopyCheckpoint(found_, to_, {})), HasSubstr("__0_0.distcp"));
  EXPECT_TRUE(ContentOf(*to_.store).empty());
}

TEST_F(CopyCheckpointTest, OthersFilesAreRefused) {
  found_.manifest = nullptr;
  EXPECT_THAT(ErrorOf(CopyCheckpoint(found_, to_, {})), HasSubstr("has no manifest"));
}

}  // namespace
}  // namespace assay::checkpoint
