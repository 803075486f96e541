#include "checkpoint/save.h"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/files.h"
#include "checkpoint/convert.h"
#include "checkpoint/manage.h"
#include "checkpoint/testing.h"
#include "checkpoint/verify.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/file/file_store.h"

namespace assay::checkpoint {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;

/// A program that dies at its n-th change of the store: before it, or after it was done. It sees nothing from then on.
class DyingStore final : public storage::ForwardingStore {
 public:
  DyingStore(std::shared_ptr<storage::ObjectStore> inner, int64_t changes, bool last_is_done)
      : ForwardingStore(std::move(inner)), left_(changes), last_is_done_(last_is_done) {}

  bool is_dead() const {
    const std::lock_guard lock(mutex_);
    return left_ < 0;
  }

  Result<std::optional<storage::ObjectInfo>> Stat(const std::string& key,
                                                  storage::CancelFlag cancel = nullptr) override {
    return is_dead() ? Result<std::optional<storage::ObjectInfo>>(Dead()) : ForwardingStore::Stat(key, cancel);
  }
  Result<storage::ObjectInfo> Read(const std::string& key, std::span<const storage::ReadPiece> pieces,
                                   const storage::ReadOptions& options) override {
    return is_dead() ? Result<storage::ObjectInfo>(Dead()) : ForwardingStore::Read(key, pieces, options);
  }
  Result<storage::ObjectInfo> Write(const std::string& key, std::span<const storage::Bytes> buffers,
                                    const storage::WriteOptions& options) override {
    return Change<Result<storage::ObjectInfo>>([&] { return ForwardingStore::Write(key, buffers, options); });
  }
  Status Remove(const std::string& key) override {
    return Change<Status>([&] { return ForwardingStore::Remove(key); });
  }
  std::vector<Status> RemoveMany(std::span<const std::string> keys, storage::CancelFlag cancel = nullptr) override {
    std::vector<Status> statuses;
    for (const std::string& key : keys) {
      statuses.push_back(Remove(key));
    }
    return statuses;
  }

 private:
  static Status Dead() { return Status::Io("the program is dead"); }

  template <typename Answer>
  Answer Change(const std::function<Answer()>& change) {
    const std::lock_guard lock(mutex_);
    if (left_ > 0 || (left_ == 0 && last_is_done_)) {
      --left_;
      Answer answer = change();
      return left_ < 0 ? Answer(Dead()) : std::move(answer);
    }
    left_ = -1;
    return Dead();
  }

  mutable std::mutex mutex_;
  int64_t left_;
  const bool last_is_done_;
};

/// Questions whether an object stands wait until so many are asked at once, for some minutes at most.
class MeetingStore final : public storage::ForwardingStore {
 public:
  MeetingStore(std::shared_ptr<storage::ObjectStore> inner, int meeting)
      : ForwardingStore(std::move(inner)), meeting_(meeting) {}

  Result<std::optional<storage::ObjectInfo>> Stat(const std::string& key,
                                                  storage::CancelFlag cancel = nullptr) override {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++asked_);
    asked_more_.notify_all();
    asked_more_.wait_for(lock, std::chrono::minutes(2), [&] { return most_ >= meeting_; });
    --asked_;
    return ForwardingStore::Stat(key, cancel);
  }
  int most() const { return most_; }

 private:
  const int meeting_;
  std::mutex mutex_;
  std::condition_variable asked_more_;
  int asked_ = 0;
  int most_ = 0;
};

/// Whether a write is of the file that makes a checkpoint valid: all of them are of keys that a target names.
bool IsPointer(std::string_view key) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"/.metadata", ".index.json", "/model.safetensors", "/x.pt", "/x.ckpt"},
      [&](std::string_view ending) { return key.ends_with(ending); });
}

/// A store whose answer to the write of the pointer is lost, and which carries it out later or never.
class LateStore final : public storage::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<storage::ObjectInfo> Write(const std::string& key, std::span<const storage::Bytes> buffers,
                                    const storage::WriteOptions& options) override {
    if (!IsPointer(key)) {
      return ForwardingStore::Write(key, buffers, options);
    }
    key_ = key;
    for (const storage::Bytes buffer : buffers) {
      content_.append(reinterpret_cast<const char*>(buffer.data()), buffer.size());
    }
    condition_ = options.condition;
    metadata_ = options.metadata;
    return Status::Io("no answer");
  }
  /// The request is carried out at last.
  Status Land() {
    const storage::Bytes bytes = std::as_bytes(std::span(content_));
    return ForwardingStore::Write(key_, std::span(&bytes, 1), {.condition = condition_, .metadata = metadata_})
        .status();
  }

 private:
  std::string key_;
  std::string content_;
  storage::WriteCondition condition_;
  std::map<std::string, std::string> metadata_;
};

/// Files on a file system that keeps no attributes, whose folder cannot be synced once the pointer has its name.
class UnsyncedFiles final : public storage::ForwardingStore {
 public:
  UnsyncedFiles(const std::shared_ptr<storage::ObjectStore>& files, bool publishes)
      : ForwardingStore(files), files_(files->as_files()), publishes_(publishes) {}
  const storage::FileStore* as_files() const override { return files_; }
  Result<std::optional<storage::ObjectInfo>> Stat(const std::string& key,
                                                  storage::CancelFlag cancel = nullptr) override {
    auto info = ForwardingStore::Stat(key, cancel);
    if (info.ok() && *info) {
      (*info)->metadata.clear();
      (*info)->checksum.reset();
    }
    return info;
  }
  Result<storage::ObjectInfo> Write(const std::string& key, std::span<const storage::Bytes> buffers,
                                    const storage::WriteOptions& options) override {
    if (!IsPointer(key)) {
      return ForwardingStore::Write(key, buffers, options);
    }
    if (publishes_) {
      EXPECT_TRUE(ForwardingStore::Write(key, buffers, options).ok());
    }
    return Status::Io("cannot sync its folder");
  }

 private:
  const storage::FileStore* files_;
  const bool publishes_;
};

struct Target {
  std::string name;
  std::string key;
  bool is_folder;
  ConvertOptions options;
  std::vector<std::string> words_before_pointer{"manifest-"};  ///< each in a name that a save writes
};

Target TargetOf(const std::string& name) {
  Target target = {name, "run/x/", true, {}};
  target.options.format = name == "shards" ? Format::kSafetensors : Must(FormatOf(name));
  target.options.ranks = name == "dcp" || name == "shards" ? 3 : 1;
  target.options.alignment = 64;
  if (name == "dcp") {
    target.words_before_pointer.insert(target.words_before_pointer.end(), {"__0_0.", "__1_0.", "__2_0."});
  } else if (name == "shards") {
    target.words_before_pointer.insert(target.words_before_pointer.end(), {"00001-of", "00002-of", "00003-of"});
  }
  if (name == "pt" || name == "ckpt") {
    target.key = "run/x." + name;
    target.is_folder = false;
  }
  target.options.save.overwrite = true;
  return target;
}

class SaveTest : public testing::TestWithParam<std::string> {
 protected:
  Place PlaceIn(std::shared_ptr<storage::ObjectStore> store) const {
    return {std::move(store), target_.key, target_.is_folder, nullptr};
  }
  Result<Manifest> SaveTo(std::shared_ptr<storage::ObjectStore> store, int seed) const {
    return Convert(CheckpointOf(StateOf(seed)), PlaceIn(std::move(store)), target_.options);
  }
  /// The seed of what stands, all of whose bytes are right; 0: nothing.
  int Standing() const {
    const Listing listing = Must(ListCheckpoints({store_, "run/", true, nullptr}));
    EXPECT_THAT(listing.others, IsEmpty());
    if (listing.checkpoints.empty()) {
      return 0;
    }
    EXPECT_EQ(listing.checkpoints.size(), 1u);
    const Found& found = listing.checkpoints.front().found;
    EXPECT_NE(found.manifest, nullptr);
    EXPECT_THAT(Must(Verify(found)).damages, IsEmpty());
    const Checkpoint checkpoint = Must(OpenCheckpoint(found));
    const Value& root = checkpoint.state.root;
    const Value* seed = root.Find("state_dict") != nullptr ? root.Find("state_dict")->Find("seed") : root.Find("seed");
    for (const Leaf& leaf : checkpoint.state.leaves) {
      if (const auto tensor = leaf.value.tensor()) {
        const int i = leaf.name.back() - '0';
        EXPECT_EQ(BytesOfTensor(tensor), Counting(120, static_cast<int>(*seed->get<int64_t>()) * 31 + i));
      }
    }
    return static_cast<int>(*seed->get<int64_t>());
  }

  const Target target_ = TargetOf(GetParam());
  std::shared_ptr<storage::ObjectStore> store_ = std::make_shared<storage::MemoryStore>("test");
};

/// Every moment between two changes of the store, of a first save and of one that replaces it.
TEST_P(SaveTest, DyingAnywhereLeavesTheOldOrTheNew) {
  for (const bool last_is_done : {false, true}) {
    int standing = 0;
    for (int seed = 1;; ++seed) {
      // How far a save gets grows until one is done; then the next one, over it.
      bool done = false;
      for (int64_t changes = 0; !done; ++changes) {
        const auto dying = std::make_shared<DyingStore>(store_, changes, last_is_done);
        done = SaveTo(dying, seed).ok() && !dying->is_dead();
        const int now = Standing();
        ASSERT_TRUE(now == standing || now == seed) << "seed " << seed << " died at change " << changes;
        ASSERT_TRUE(!done || now == seed);
        standing = now;
        ASSERT_LT(changes, 100);
      }
      if (seed == 3) {
        break;
      }
    }
    // What the dead left is swept, and the checkpoint stays.
    const Place place = {store_, "run/", true, nullptr};
    ASSERT_TRUE(RemoveLeftovers(place, Must(FindLeftovers(place, -1))).ok());
    EXPECT_EQ(Standing(), 3);
    EXPECT_THAT(Must(FindLeftovers(place, -1)), IsEmpty());
    ASSERT_TRUE(RemoveCheckpoint(*Must(FindCheckpoint(PlaceIn(store_)))).ok());
    EXPECT_THAT(ContentOf(*store_), IsEmpty());
  }
}

TEST_P(SaveTest, ASaveThatFailsLeavesNothing) {
  ASSERT_TRUE(SaveTo(store_, 1).ok());
  const auto before = ContentOf(*store_);
  /// Of writes of that name alone.
  class RefusingStore final : public storage::ForwardingStore {
   public:
    RefusingStore(std::shared_ptr<storage::ObjectStore> inner, std::string word)
        : ForwardingStore(std::move(inner)), word_(std::move(word)) {}
    Result<storage::ObjectInfo> Write(const std::string& key, std::span<const storage::Bytes> buffers,
                                      const storage::WriteOptions& options) override {
      return key.find(word_) != std::string::npos ? Result<storage::ObjectInfo>(Status::Io("refused"))
                                                  : ForwardingStore::Write(key, buffers, options);
    }

   private:
    std::string word_;
  };
  for (const std::string& word : target_.words_before_pointer) {
    EXPECT_THAT(ErrorOf(SaveTo(std::make_shared<RefusingStore>(store_, word), 2)), HasSubstr("refused")) << word;
    EXPECT_EQ(ContentOf(*store_), before) << word;
  }
}

TEST_P(SaveTest, APointerThatLandsAfterItsErrorIsThatOfAWholeSave) {
  for (const int standing : {0, 1}) {
    if (standing == 1) {
      store_ = std::make_shared<storage::MemoryStore>("test");
      ASSERT_TRUE(SaveTo(store_, 1).ok());
    }
    const auto late = std::make_shared<LateStore>(store_);
    EXPECT_THAT(ErrorOf(SaveTo(late, 2)), HasSubstr("whether the save was committed is not known, its files stay"));
    EXPECT_EQ(Standing(), standing);
    ASSERT_TRUE(late->Land().ok());
    EXPECT_EQ(Standing(), 2);
  }
}

TEST_P(SaveTest, WhatALostRequestLeftIsSweptAndAnotherSaveSucceeds) {
  ASSERT_TRUE(SaveTo(store_, 1).ok());
  const auto before = ContentOf(*store_);
  EXPECT_FALSE(SaveTo(std::make_shared<LateStore>(store_), 2).ok());
  const Place place = {store_, "run/", true, nullptr};
  ASSERT_TRUE(RemoveLeftovers(place, Must(FindLeftovers(place, -1))).ok());
  EXPECT_EQ(ContentOf(*store_), before);
  const auto late = std::make_shared<LateStore>(store_);
  EXPECT_FALSE(SaveTo(late, 2).ok());
  ASSERT_TRUE(SaveTo(store_, 3).ok());
  EXPECT_FALSE(late->Land().ok());  // its condition holds no more
  EXPECT_EQ(Standing(), 3);
}

TEST_P(SaveTest, APublishedFileWhoseWriteFailedKeepsItsData) {
  const TemporaryDirectory directory = std::move(TemporaryDirectory::Create("save")).value();
  store_ = std::make_shared<storage::FileStore>(storage::FileStoreOptions{.root = directory.path(), .durable = false});
  ASSERT_TRUE(SaveTo(store_, 1).ok());
  const auto before = ContentOf(*store_);
  EXPECT_THAT(ErrorOf(SaveTo(std::make_shared<UnsyncedFiles>(store_, /*publishes=*/false), 2)),
              HasSubstr("nothing was saved"));
  EXPECT_EQ(ContentOf(*store_), before);
  EXPECT_THAT(ErrorOf(SaveTo(std::make_shared<UnsyncedFiles>(store_, /*publishes=*/true), 2)),
              HasSubstr("stands, but may be gone after a power cut"));
  EXPECT_EQ(Standing(), 2);
  // What it replaced would be needed if the name were lost.
  const auto after = ContentOf(*store_);
  for (const auto& [key, content] : before) {
    EXPECT_TRUE(IsPointer(key) || after.at(key) == content) << key;
  }
}

TEST_P(SaveTest, APointerThatReadsOtherwiseIsNoticed) {
  /// It takes the pointer, and has other bytes for it.
  class MixedUpStore final : public storage::ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<storage::ObjectInfo> Write(const std::string& key, std::span<const storage::Bytes> buffers,
                                      const storage::WriteOptions& options) override {
      if (!IsPointer(key)) {
        return ForwardingStore::Write(key, buffers, options);
      }
      std::string content;
      for (const storage::Bytes buffer : buffers) {
        content.append(reinterpret_cast<const char*>(buffer.data()), buffer.size());
      }
      content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
      const storage::Bytes bytes = std::as_bytes(std::span(content));
      storage::WriteOptions unchecked = options;
      unchecked.expected.reset();
      return ForwardingStore::Write(key, std::span(&bytes, 1), unchecked);
    }
  };
  EXPECT_THAT(ErrorOf(SaveTo(std::make_shared<MixedUpStore>(store_), 1)),
              HasSubstr("was written, but reads otherwise: the store is at fault"));
}

TEST_P(SaveTest, OfTwoSavesOneWins) {
  ASSERT_TRUE(SaveTo(store_, 1).ok());
  /// Another save comes and is done just before the manifest of this one is written.
  class InterferingStore final : public storage::ForwardingStore {
   public:
    InterferingStore(std::shared_ptr<storage::ObjectStore> inner, std::function<void()> interfere)
        : ForwardingStore(std::move(inner)), interfere_(std::move(interfere)) {}
    Result<storage::ObjectInfo> Write(const std::string& key, std::span<const storage::Bytes> buffers,
                                      const storage::WriteOptions& options) override {
      if (key.find("manifest-") != std::string::npos) {
        interfere_();
      }
      return ForwardingStore::Write(key, buffers, options);
    }

   private:
    std::function<void()> interfere_;
  };
  const auto store = std::make_shared<InterferingStore>(store_, [this] { ASSERT_TRUE(SaveTo(store_, 3).ok()); });
  EXPECT_THAT(ErrorOf(SaveTo(store, 2)), HasSubstr("nothing was saved"));
  EXPECT_EQ(Standing(), 3);
  EXPECT_THAT(Must(FindLeftovers({store_, "run/", true, nullptr}, -1)), IsEmpty());
}

TEST_P(SaveTest, IsNotReplacedUnasked) {
  ASSERT_TRUE(SaveTo(store_, 1).ok());
  ConvertOptions options = target_.options;
  options.save.overwrite = false;
  EXPECT_THAT(ErrorOf(Convert(CheckpointOf(StateOf(2)), PlaceIn(store_), options)), HasSubstr("--overwrite"));
  EXPECT_EQ(Standing(), 1);
}

TEST_P(SaveTest, AStoreThatMixesUpWhatWasWrittenIsNoticed) {
  /// The manifest reads otherwise than it was written.
  class ForgetfulStore final : public storage::ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<storage::ObjectInfo> Write(const std::string& key, std::span<const storage::Bytes> buffers,
                                      const storage::WriteOptions& options) override {
      const std::string other = "{}\n";
      const storage::Bytes bytes = std::as_bytes(std::span(other));
      storage::WriteOptions unchecked = options;
      unchecked.expected.reset();
      return key.find("manifest-") != std::string::npos ? ForwardingStore::Write(key, std::span(&bytes, 1), unchecked)
                                                        : ForwardingStore::Write(key, buffers, options);
    }
  };
  EXPECT_THAT(ErrorOf(SaveTo(std::make_shared<ForgetfulStore>(store_), 1)), HasSubstr("reads otherwise"));
  EXPECT_THAT(ContentOf(*store_), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Formats, SaveTest, testing::Values("pt", "ckpt", "safetensors", "shards", "dcp"),
                         [](const auto& info) { return info.param; });

TEST(BeginSave, RefusesWhatItCouldNotReplaceInOneStep) {
  const auto store = std::make_shared<storage::MemoryStore>("test");
  const Place place = {store, "x/", true, nullptr};
  ConvertOptions options = {.format = Format::kDcp};
  options.save.overwrite = true;
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(1)), place, options).ok());
  options.format = Format::kSafetensors;
  EXPECT_THAT(ErrorOf(Convert(CheckpointOf(StateOf(2)), place, options)), HasSubstr("remove it first"));
}

TEST(BeginSave, AsksForAllPointersAtOnce) {
  const auto store = std::make_shared<MeetingStore>(std::make_shared<storage::MemoryStore>("test"), 5);
  ASSERT_TRUE(BeginSave({store, "x/", true, nullptr}, Format::kDcp, ".metadata", {}).ok());
  EXPECT_EQ(store->most(), 5);
}

TEST(CommitSave, AsksForFilesWhileTheManifestIsWritten) {
  /// A manifest is written once it is asked for a file, in some minutes at most, and is read in one request.
  class WaitingStore final : public storage::ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<std::optional<storage::ObjectInfo>> Stat(const std::string& key,
                                                    storage::CancelFlag cancel = nullptr) override {
      EXPECT_EQ(key.find("manifest-"), std::string::npos);
      {
        const std::lock_guard lock(mutex_);
        is_asked_ = is_asked_ || key.ends_with(".distcp");
      }
      asked_.notify_all();
      return ForwardingStore::Stat(key, cancel);
    }
    Result<storage::ObjectInfo> Write(const std::string& key, std::span<const storage::Bytes> buffers,
                                      const storage::WriteOptions& options) override {
      if (key.find("manifest-") != std::string::npos) {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(asked_.wait_for(lock, std::chrono::minutes(2), [&] { return is_asked_; }));
      }
      return ForwardingStore::Write(key, buffers, options);
    }

   private:
    std::mutex mutex_;
    std::condition_variable asked_;
    bool is_asked_ = false;
  };
  const auto store = std::make_shared<WaitingStore>(std::make_shared<storage::MemoryStore>("test"));
  ConvertOptions options = {.format = Format::kDcp};
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(1)), {store, "x/", true, nullptr}, options).ok());
}

TEST(BeginSave, LeavesOtherFilesAlone) {
  const auto store = std::make_shared<storage::MemoryStore>("test");
  const storage::Bytes bytes = std::as_bytes(std::span("{}", 2));
  ASSERT_TRUE(store->Write("x/config.json", std::span(&bytes, 1), {}).ok());
  const Place place = {store, "x/", true, nullptr};
  ConvertOptions options = {.format = Format::kSafetensors};
  options.save.overwrite = true;
  for (int seed = 1; seed < 4; ++seed) {
    ASSERT_TRUE(Convert(CheckpointOf(StateOf(seed)), place, options).ok());
  }
  EXPECT_THAT(ContentOf(*store), Contains(Key("x/config.json")));
  EXPECT_EQ(ContentOf(*store).size(), 3u);
}

TEST(SaveMetrics, AreNumbersThatAManifestCanHold) {
  const Place place = {std::make_shared<storage::MemoryStore>("test"), "run/", true, nullptr};
  ConvertOptions options = {.format = Format::kDcp};
  options.save.metrics["loss"] = std::nan("");
  EXPECT_THAT(ErrorOf(Convert(CheckpointOf(StateOf(1)), place, options)), HasSubstr("'loss' is nan"));
  EXPECT_THAT(ContentOf(*place.store), IsEmpty());
  options.save.metrics["loss"] = 1e300;
  ASSERT_TRUE(Convert(CheckpointOf(StateOf(1)), place, options).ok());
  EXPECT_TRUE(OpenCheckpoint(place).ok());
}

}  // namespace
}  // namespace assay::checkpoint
