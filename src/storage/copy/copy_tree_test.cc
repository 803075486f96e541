#include "storage/copy/copy_tree.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "storage/copy/key_spool.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/file/file_store.h"
#include "storage/memory/memory_store.h"

namespace assay::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Outcome = TreeCopyEvent::Outcome;

void Put(ObjectStore& store, const std::string& key, std::string_view content) {
  const Bytes bytes = std::as_bytes(std::span(content.data(), content.size()));
  const auto written = store.Write(key, std::span(&bytes, 1), {});
  ASSERT_TRUE(written.ok()) << written.status().message();
}

std::string Get(ObjectStore& store, const std::string& key) {
  std::string text;
  const auto read = store.ReadWhole(key,
                                    [&text](int64_t size) {
                                      text.resize(static_cast<size_t>(size));
                                      return std::as_writable_bytes(std::span(text.data(), text.size()));
                                    },
                                    {});
  return read.ok() ? text : "error: " + read.status().message();
}

std::vector<std::string> KeysOf(ObjectStore& store) {
  std::vector<std::string> keys;
  ListOptions list;
  list.max_keys = 1'000'000;
  const Result<ListPage> page = store.List(list);
  for (const ObjectInfo& info : page->objects) {
    keys.push_back(info.key);
  }
  return keys;
}

class Recorder : public TreeCopyListener {
 public:
  void OnPlan(int64_t objects, int64_t bytes, bool all) override {
    planned = {objects, bytes};
    complete = all;
  }
  void OnBytes(int64_t bytes) override { moved += bytes; }
  void OnObject(const TreeCopyEvent& event) override { events.emplace_back(event.outcome, event.to); }

  std::vector<std::string> Of(Outcome outcome) const {
    std::vector<std::string> uris;
    for (const auto& [what, uri] : events) {
      if (what == outcome) {
        uris.push_back(uri);
      }
    }
    std::sort(uris.begin(), uris.end());
    return uris;
  }

  std::pair<int64_t, int64_t> planned;
  bool complete = false;
  int64_t moved = 0;
  std::vector<std::pair<Outcome, std::string>> events;
};

class CopyTreeTest : public testing::Test {
 protected:
  CopyTreeTest()
      : folder_(*TemporaryDirectory::Create("tree")), files_(FileStoreOptions{folder_.path() + "/files", false}) {}

  Recorder Copy(const TreePlace& source, const TreePlace& target, const TreeCopyOptions& options = {}) {
    Recorder recorder;
    status_ = CopyTree(source, target, options, recorder);
    return recorder;
  }

  TemporaryDirectory folder_;
  FileStore files_;
  MemoryStore one_{"one"};
  MemoryStore two_{"two"};
  Status status_;
};

TEST_F(CopyTreeTest, IsCopiedOnceAndThenOnlyWhatChanged) {
  Put(one_, "run/", "");
  Put(one_, "run/a", "alpha");
  Put(one_, "run/b/../c", "gamma");
  Put(one_, "running", "not in the folder");
  const TreePlace source = {&one_, "run/"};
  const TreePlace target = {&files_, "backup/"};
  const Recorder first = Copy(source, target);
  ASSERT_TRUE(status_.ok()) << status_.message();
  EXPECT_EQ(first.planned, (std::pair<int64_t, int64_t>(2, 10)));
  EXPECT_TRUE(first.complete);
  EXPECT_THAT(first.Of(Outcome::kCopied), ElementsAre(files_.Uri("backup/a"), files_.Uri("backup/b/../c")));
  EXPECT_EQ(first.moved, 10);
  EXPECT_EQ(Get(files_, "backup/b/../c"), "gamma");

  const Recorder second = Copy(source, target);
  EXPECT_THAT(second.Of(Outcome::kCopied), IsEmpty());
  EXPECT_EQ(second.Of(Outcome::kSkipped).size(), 2U);

  Put(one_, "run/a", "ALPHA");
  EXPECT_THAT(Copy(source, target).Of(Outcome::kCopied), ElementsAre(files_.Uri("backup/a")));
  EXPECT_EQ(Get(files_, "backup/a"), "ALPHA");
}

TEST_F(CopyTreeTest, ADryRunMovesAndRemovesNothing) {
  Put(one_, "run/a", "alpha");
  Put(two_, "old", "x");
  TreeCopyOptions options;
  options.dry_run = true;
  options.remove_others = true;
  const Recorder told = Copy({&one_, "run/"}, {&two_, ""}, options);
  ASSERT_TRUE(status_.ok()) << status_.message();
  EXPECT_THAT(told.Of(Outcome::kPlanned), ElementsAre("mem://two/a"));
  EXPECT_THAT(told.Of(Outcome::kRemovalPlanned), ElementsAre("mem://two/old"));
  EXPECT_THAT(KeysOf(two_), ElementsAre("old"));
}

TEST_F(CopyTreeTest, RemovesWhatTheSourceDoesNotHave) {
  for (const char* key : {"a", "b/1", "b/2", "d"}) {
    Put(one_, key, "content");
  }
  for (const char* key : {"to/0", "to/a", "to/b", "to/b/15", "to/c", "to/z", "beside", "tp"}) {
    Put(two_, key, "content");
  }
  TreeCopyOptions options;
  options.remove_others = true;
  const Recorder told = Copy({&one_, ""}, {&two_, "to/"}, options);
  ASSERT_TRUE(status_.ok()) << status_.message();
  EXPECT_THAT(KeysOf(two_), ElementsAre("beside", "to/a", "to/b/1", "to/b/2", "to/d", "tp"));
  EXPECT_EQ(told.Of(Outcome::kRemoved).size(), 5U);
  EXPECT_THAT(told.Of(Outcome::kSkipped), ElementsAre("mem://two/to/a"));
  // Removals come last.
  EXPECT_TRUE(std::all_of(told.events.end() - 5, told.events.end(),
                          [](const auto& event) { return event.first == Outcome::kRemoved; }));
}

TEST_F(CopyTreeTest, WithoutThatOthersStay) {
  Put(one_, "a", "content");
  Put(two_, "z", "content");
  Copy({&one_, ""}, {&two_, ""});
  EXPECT_THAT(KeysOf(two_), ElementsAre("a", "z"));
}

TEST_F(CopyTreeTest, AnEmptySourceRemovesNothing) {
  Put(two_, "to/a", "content");
  TreeCopyOptions options;
  options.remove_others = true;
  Copy({&one_, "typo/"}, {&two_, "to/"}, options);
  EXPECT_EQ(status_.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(status_.message(), HasSubstr("nothing is under mem://one/typo/"));
  EXPECT_THAT(KeysOf(two_), ElementsAre("to/a"));
}

TEST_F(CopyTreeTest, ASourceThatCannotBeReadWholeRemovesNothing) {
  Put(files_, "a", "content");
  std::filesystem::create_symlink("b", folder_.path() + "/files/b");
  Put(two_, "b", "content");
  TreeCopyOptions options;
  options.remove_others = true;
  Copy({&files_, ""}, {&two_, ""}, options);
  EXPECT_FALSE(status_.ok());
  EXPECT_EQ(Get(two_, "b"), "content");
}

TEST_F(CopyTreeTest, PatternsChooseWhatIsCopiedAndWhatIsRemoved) {
  Put(one_, "a.txt", "content");
  Put(one_, "a.bin", "content");
  Put(two_, "old.txt", "content");
  Put(two_, "old.bin", "content");
  TreeCopyOptions options;
  options.remove_others = true;
  options.filter.Exclude("*.bin");
  Copy({&one_, ""}, {&two_, ""}, options);
  ASSERT_TRUE(status_.ok()) << status_.message();
  EXPECT_THAT(KeysOf(two_), ElementsAre("a.txt", "old.bin"));
}

TEST_F(CopyTreeTest, ComparesAsItIsTold) {
  Put(one_, "k", "new");
  Put(two_, "k", "old");
  const auto copied_by = [&](Comparison comparison) {
    TreeCopyOptions options;
    options.comparison = comparison;
    options.dry_run = true;
    return Copy({&one_, ""}, {&two_, ""}, options).Of(Outcome::kPlanned).size();
  };
  EXPECT_EQ(copied_by(Comparison::kContent), 1U);
  EXPECT_EQ(copied_by(Comparison::kSize), 0U);
  EXPECT_EQ(copied_by(Comparison::kTime), 0U);
  EXPECT_EQ(copied_by(Comparison::kNone), 1U);
  const ObjectInfo older = {.key = "k", .size = 3, .modified = 1000.9};
  const ObjectInfo newer = {.key = "k", .size = 3, .modified = 1001};
  EXPECT_FALSE(*AreEqual(Comparison::kTime, one_, newer, two_, older, nullptr));
  EXPECT_TRUE(*AreEqual(Comparison::kTime, one_, older, two_, newer, nullptr));
}

TEST_F(CopyTreeTest, PlacesWithinEachOtherAreRefused) {
  Put(one_, "run/a", "content");
  Copy({&one_, "run/"}, {&one_, "run/copy/"});
  EXPECT_THAT(status_.message(), HasSubstr("lies within the source"));
  Put(files_, "run/a", "content");
  FileStore below({folder_.path() + "/files/run", false});
  Copy({&files_, "run/"}, {&below, "copy/"});
  EXPECT_THAT(status_.message(), HasSubstr("lies within the source"));
  TreeCopyOptions options;
  options.remove_others = true;
  Copy({&one_, "run/"}, {&one_, ""}, options);
  EXPECT_THAT(status_.message(), HasSubstr("the source lies within it"));
  Copy({&one_, "run/"}, {&one_, "running/"});
  EXPECT_TRUE(status_.ok()) << status_.message();
  EXPECT_THAT(KeysOf(one_), ElementsAre("run/a", "running/a"));
}

/// Fails what `verb` names.
class FailingStore final : public ForwardingStore {
 public:
  FailingStore(std::shared_ptr<ObjectStore> inner, std::string verb)
      : ForwardingStore(std::move(inner)), verb_(std::move(verb)) {}
  Result<ListPage> List(const ListOptions& options) override {
    // The second page is never had.
    return verb_ == "list" && !options.page_token.empty() ? Result<ListPage>(Status::Io("the list broke off"))
                                                          : ForwardingStore::List(options);
  }
  Result<ObjectInfo> ReadWhole(const std::string& key, const std::function<MutableBytes(int64_t size)>& allocate,
                               const ReadOptions& options) override {
    return verb_ == "read" && key == "run/b" ? Result<ObjectInfo>(Status::Io("cannot read b"))
                                             : ForwardingStore::ReadWhole(key, allocate, options);
  }

 private:
  const std::string verb_;
};

TEST_F(CopyTreeTest, NothingIsRemovedWhereNotAllWasCopied) {
  const auto store = std::make_shared<MemoryStore>("source");
  for (const char* key : {"run/a", "run/b", "run/c"}) {
    Put(*store, key, "content");
  }
  Put(two_, "other", "content");
  TreeCopyOptions options;
  options.remove_others = true;
  FailingStore source(store, "read");
  const Recorder told = Copy({&source, "run/"}, {&two_, ""}, options);
  EXPECT_THAT(status_.message(), HasSubstr("cannot read b"));
  EXPECT_EQ(told.Of(Outcome::kFailed).size(), 1U);
  EXPECT_THAT(KeysOf(two_), ElementsAre("a", "c", "other"));
}

TEST_F(CopyTreeTest, NothingIsRemovedWhereAListBreaksOff) {
  const auto store = std::make_shared<MemoryStore>("source");
  for (int i = 0; i < 2500; ++i) {
    Put(*store, "k" + std::to_string(10000 + i), "");
  }
  Put(two_, "k10500x", "content");
  TreeCopyOptions options;
  options.remove_others = true;
  FailingStore source(store, "list");
  Copy({&source, ""}, {&two_, ""}, options);
  EXPECT_FALSE(status_.ok());
  EXPECT_EQ(Get(two_, "k10500x"), "content");
}

TEST_F(CopyTreeTest, ThousandsOfObjectsOfBothSidesMeet) {
  for (int i = 0; i < 5000; ++i) {
    Put(one_, "k" + std::to_string(10000 + i), i % 7 == 0 ? "new" : "same");
    if (i % 3 != 0) {
      Put(two_, "k" + std::to_string(10000 + i), "same");
    }
    if (i % 11 == 0) {
      Put(two_, "k" + std::to_string(10000 + i) + "-old", "x");
    }
  }
  TreeCopyOptions options;
  options.remove_others = true;
  const Recorder told = Copy({&one_, ""}, {&two_, ""}, options);
  ASSERT_TRUE(status_.ok()) << status_.message();
  EXPECT_EQ(KeysOf(two_), KeysOf(one_));
  EXPECT_EQ(told.planned.first, 5000);
  EXPECT_EQ(told.Of(Outcome::kRemoved).size(), 455U);
  int64_t expected = 0;
  for (int i = 0; i < 5000; ++i) {
    expected += i % 3 == 0 || i % 7 == 0 ? 1 : 0;
  }
  EXPECT_EQ(static_cast<int64_t>(told.Of(Outcome::kCopied).size()), expected);
}

TEST(KeySpool, GivesBackWhatItWasGiven) {
  KeySpool spool;
  std::vector<std::string> given;
  for (int i = 0; i < 2500; ++i) {
    given.push_back("key\n" + std::to_string(i));
    ASSERT_TRUE(spool.Add(given.back()).ok());
  }
  std::vector<std::string> got;
  ASSERT_TRUE(spool
                  .ForEachBatch(1000,
                                [&](const std::vector<std::string>& keys) {
                                  EXPECT_LE(keys.size(), 1000U);
                                  got.insert(got.end(), keys.begin(), keys.end());
                                  return Status::Ok();
                                })
                  .ok());
  EXPECT_EQ(got, given);
}

}  // namespace
}  // namespace assay::storage
