#include "storage/file/file_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "storage/conformance.h"

namespace assay::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FileUnderTest final : public StoreUnderTest {
 public:
  FileUnderTest() : folder_(*TemporaryDirectory::Create("assay-file-store")), store_({folder_.path(), false, 3}) {}
  ObjectStore& store() override { return store_; }

 private:
  TemporaryDirectory folder_;
  FileStore store_;
};

INSTANTIATE_TEST_SUITE_P(File, ObjectStoreConformance,
                         testing::Values(ConformanceTarget{.name = "file",
                                                           .make = [] { return std::make_unique<FileUnderTest>(); }}),
                         TargetName);

class FileStoreTest : public testing::Test {
 protected:
  const std::string& root() const { return folder_.path(); }
  Result<ObjectInfo> Put(const std::string& key, std::string_view content) {
    const Bytes bytes = AsBytes(content);
    return store_.Write(key, std::span(&bytes, 1), {});
  }
  std::string Get(const std::string& key) {
    std::string content;
    const auto allocate = [&](int64_t size) {
      content.resize(static_cast<size_t>(size));
      return std::as_writable_bytes(std::span(content));
    };
    const auto info = store_.ReadWhole(key, allocate, {});
    return info.ok() ? content : "error: " + info.status().message();
  }
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    const auto page = store_.List({});
    for (const ObjectInfo& info : page->objects) {
      keys.push_back(info.key);
    }
    return keys;
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("assay-file-store");
  FileStore store_{{folder_.path(), true, 2}};
};

TEST_F(FileStoreTest, KeepsOrdinaryKeysAsOrdinaryFiles) {
  ASSERT_TRUE(Put("runs/7/model.bin", "weights").ok());
  EXPECT_EQ(*ReadFile(root() + "/runs/7/model.bin"), "weights");
  EXPECT_EQ(store_.Uri("runs/7/model.bin"), "file://" + root() + "/runs/7/model.bin");
}

TEST_F(FileStoreTest, ServesFilesThatOthersMade) {
  std::filesystem::create_directories(root() + "/data/empty");
  std::ofstream(root() + "/data/50% of it") << "theirs";
  std::ofstream(root() + "/data/%41") << "not what A is called";
  std::filesystem::create_symlink(root() + "/data/50% of it", root() + "/data/link");
  EXPECT_THAT(Keys(), ElementsAre("data/50% of it", "data/link"));
  EXPECT_EQ(Get("data/50% of it"), "theirs");
  EXPECT_EQ(Get("data/link"), "theirs");
}

TEST_F(FileStoreTest, ALinkHasTheEtagOfWhatItLeadsTo) {
  std::ofstream(root() + "/file") << "theirs";
  std::filesystem::create_symlink(root() + "/file", root() + "/link");
  const Bytes bytes = AsBytes("ours");
  WriteOptions options;
  options.condition = {.kind = WriteCondition::Kind::kMatches, .etag = "another"};
  EXPECT_FALSE(store_.Write("link", std::span(&bytes, 1), options).ok());
  options.condition.etag = (*store_.Stat("link"))->etag;
  const auto written = store_.Write("link", std::span(&bytes, 1), options);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(Get("link"), "ours");
  EXPECT_EQ(Get("file"), "theirs");
}

TEST_F(FileStoreTest, WhatALinkLeadsToOnAnotherFileSystemIsCopied) {
  std::string elsewhere = "/dev/shm/assay-XXXXXX";
  const FileDescriptor file(::mkstemp(elsewhere.data()));
  ASSERT_TRUE(file.valid());
  std::string content(3 << 20, 'a');
  content.back() = 'z';
  std::ofstream(elsewhere) << content;
  std::filesystem::create_symlink(elsewhere, root() + "/link");
  const auto copied = store_.Copy("link", "copy", {});
  std::filesystem::remove(elsewhere);
  ASSERT_TRUE(copied.ok()) << copied.status().message();
  EXPECT_TRUE(Get("copy") == content);
}

TEST_F(FileStoreTest, WhatCannotBeLookedAtEndsAListing) {
  std::filesystem::create_symlink(root() + "/nowhere", root() + "/dangling");
  ASSERT_TRUE(Put("a", "x").ok());
  EXPECT_THAT(Keys(), ElementsAre("a"));
  std::filesystem::create_symlink(root() + "/loop", root() + "/loop");
  const Status status = store_.List({}).status();
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_THAT(status.message(), HasSubstr(root() + "/loop"));
}

TEST_F(FileStoreTest, NeverLeavesItsRoot) {
  for (const std::string key : {"../escaped", "/escaped", "a/../../escaped", ".."}) {
    ASSERT_TRUE(Put(key, "x").ok()) << key;
  }
  const auto parent = std::filesystem::path(root()).parent_path();
  EXPECT_FALSE(std::filesystem::exists(parent / "escaped"));
  EXPECT_FALSE(std::filesystem::exists("/escaped"));
  EXPECT_EQ(Keys().size(), 4u);
}

class FileStoreLinks : public FileStoreTest {
 protected:
  void SetUp() override {
    std::ofstream(outside() + "/theirs") << "theirs";
    std::filesystem::create_directory(outside() + "/sub");
    std::filesystem::create_directory_symlink(outside(), root() + "/link");
    std::filesystem::create_directory(root() + "/own");
    std::filesystem::create_directory_symlink(outside(), root() + "/own/link");
  }
  const std::string& outside() const { return outside_.path(); }
  /// The names that lie outside the root, two when all is as it was.
  std::vector<std::string> Outside() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(outside())) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryDirectory outside_ = *TemporaryDirectory::Create("assay-outside");
};

TEST_F(FileStoreLinks, NothingIsWrittenThroughThem) {
  for (const std::string key : {"link/new", "link/theirs", "link/sub/new", "own/link/new", "own/link/a/b"}) {
    const auto written = Put(key, "x");
    ASSERT_FALSE(written.ok()) << key;
    EXPECT_EQ(written.status().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(written.status().message(), HasSubstr("/link: a symbolic link stands there"));
  }
  WriteOptions absent;
  absent.condition.kind = WriteCondition::Kind::kAbsent;
  auto writer = store_.OpenWriter("link/streamed", absent);
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE((*writer)->Commit().ok());
  ASSERT_TRUE(Put("plain", "x").ok());
  EXPECT_FALSE(store_.Copy("plain", "link/copy", {}).ok());
  EXPECT_THAT(Outside(), ElementsAre("sub", "theirs"));
  EXPECT_THAT(*store_.ListUploads(""), IsEmpty());
}

TEST_F(FileStoreLinks, NothingIsReadListedOrRemovedThroughThem) {
  EXPECT_THAT(Get("link/theirs"), HasSubstr("no such object"));
  EXPECT_THAT(store_.Stat("own/link/theirs").value(), testing::Eq(std::nullopt));
  EXPECT_THAT(Keys(), IsEmpty());
  const std::string keys[] = {"link/theirs", "own/link/sub"};
  for (const Status& status : store_.RemoveMany(keys)) {
    EXPECT_TRUE(status.ok());
  }
  EXPECT_THAT(Outside(), ElementsAre("sub", "theirs"));
}

TEST_F(FileStoreLinks, AWriteReplacesALinkToAFileAndNotTheFile) {
  std::filesystem::create_symlink(outside() + "/theirs", root() + "/file");
  EXPECT_EQ(Get("file"), "theirs");
  ASSERT_TRUE(Put("file", "ours").ok());
  EXPECT_EQ(Get("file"), "ours");
  EXPECT_EQ(*ReadFile(outside() + "/theirs"), "theirs");
  std::filesystem::create_symlink(outside() + "/theirs", root() + "/removed");
  ASSERT_TRUE(store_.Remove("removed").ok());
  EXPECT_EQ(*ReadFile(outside() + "/theirs"), "theirs");
}

TEST_F(FileStoreLinks, UnfinishedUploadsDoNotGoThroughThem) {
  std::filesystem::create_directory_symlink(outside(), root() + "/.assay");
  const auto written = Put("key", std::string(2 << 20, 'x'));
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.status().message(), HasSubstr(".assay is no folder or a symbolic link"));
  ASSERT_TRUE(Put("small", "x").ok()) << "it has no name before its own";
  EXPECT_FALSE(Put("small", "y").ok()) << "what replaces another has";
  EXPECT_EQ(Get("small"), "x");
  {
    const FileStore other({root()});
  }
  EXPECT_THAT(Outside(), ElementsAre("sub", "theirs"));
}

TEST_F(FileStoreLinks, TheRootMayBeOneOrLieBehindOne) {
  FileStore linked({root() + "/link"});
  const Bytes bytes = AsBytes("x");
  ASSERT_TRUE(linked.Write("sub/new", std::span(&bytes, 1), {}).ok());
  EXPECT_EQ(*ReadFile(outside() + "/sub/new"), "x");
  FileStore below({root() + "/link/sub"});
  EXPECT_EQ(below.List({})->objects.size(), 1u);
}

TEST_F(FileStoreTest, WithoutLocksIfMatchIsRefused) {
  FileStore unlocked({.root = root(), .lock = [](int, int) {
                        errno = ENOLCK;
                        return -1;
                      }});
  const Bytes bytes = AsBytes("x");
  const auto write = [&](WriteCondition condition) {
    WriteOptions options;
    options.condition = std::move(condition);
    return unlocked.Write("key", std::span(&bytes, 1), options);
  };
  const auto first = write({.kind = WriteCondition::Kind::kAbsent});
  ASSERT_TRUE(first.ok()) << first.status().message();
  const auto matching = write({.kind = WriteCondition::Kind::kMatches, .etag = first->etag});
  ASSERT_FALSE(matching.ok());
  EXPECT_EQ(matching.status().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(matching.status().message(), HasSubstr("its file system has no locks"));
  EXPECT_FALSE(write({.kind = WriteCondition::Kind::kAbsent}).ok());
  EXPECT_TRUE(write({}).ok());
  EXPECT_TRUE(unlocked.Remove("key").ok());
}

TEST_F(FileStoreTest, MovesAnObjectAsideForAFolder) {
  ASSERT_TRUE(Put("a", "file").ok());
  const std::string etag = (*store_.Stat("a"))->etag;
  ASSERT_TRUE(Put("a/b", "below").ok());
  EXPECT_EQ(Get("a"), "file");
  EXPECT_EQ((*store_.Stat("a"))->etag, etag);
  ASSERT_TRUE(Put("a", "newer").ok());
  EXPECT_EQ(Get("a"), "newer");
  EXPECT_THAT(Keys(), ElementsAre("a", "a/b"));
  ASSERT_TRUE(store_.Remove("a/b").ok());
  EXPECT_EQ(Get("a"), "newer");
  ASSERT_TRUE(Put("a", "newest").ok());
  EXPECT_EQ(Get("a"), "newest");
  EXPECT_THAT(Keys(), ElementsAre("a"));
  ASSERT_TRUE(store_.Remove("a").ok());
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(FileStoreTest, LeavesPipesAndDevicesAlone) {
  const std::string pipe = root() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto written = Put("pipe", "content");
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.status().message(), HasSubstr("a pipe or a socket stands there"));
  const std::string key = "pipe";
  EXPECT_TRUE(store_.RemoveMany(std::span(&key, 1)).at(0).ok());
  EXPECT_EQ(std::filesystem::status(pipe).type(), std::filesystem::file_type::fifo);
  EXPECT_THAT(store_.Stat("pipe").value(), testing::Eq(std::nullopt));
}

TEST_F(FileStoreTest, FindsAFlippedBit) {
  ASSERT_TRUE(Put("damaged", "0123456789").ok());
  const auto info = *store_.Stat("damaged");
  const std::string path = root() + "/damaged";
  const auto time = std::filesystem::last_write_time(path);
  std::fstream(path, std::ios::in | std::ios::out) << "1";
  std::filesystem::last_write_time(path, time);
  EXPECT_THAT(Get("damaged"), HasSubstr("the content is damaged, its crc32c is"));
  // A program that writes into the file, and does not hide it, is no damage.
  std::ofstream(path) << "changed";
  EXPECT_EQ(Get("damaged"), "changed");
  EXPECT_NE((*store_.Stat("damaged"))->etag, info->etag);
}

TEST_F(FileStoreTest, LeavesNoFoldersBehind) {
  ASSERT_TRUE(Put("a/b/c/d", "x").ok());
  {
    auto writer = store_.OpenWriter("e", {});
  }
  ASSERT_TRUE(store_.Remove("a/b/c/d").ok());
  {
    const FileStore other({root()});
  }
  EXPECT_TRUE(std::filesystem::is_empty(root()));
}

TEST_F(FileStoreTest, ASmallWriteNeedsNoFolderOfUploads) {
  if (!FileDescriptor(::open(root().c_str(), O_TMPFILE | O_RDWR, 0600)).valid()) {
    GTEST_SKIP() << "this file system has no files without a name";
  }
  ASSERT_TRUE(Put("a/small", std::string(1 << 20, 'x')).ok());
  EXPECT_FALSE(FileExists(root() + "/.assay"));
  ASSERT_TRUE(Put("a/small", "y").ok());
  EXPECT_EQ(Get("a/small"), "y");
  EXPECT_THAT(*store_.ListUploads(""), IsEmpty());
  WriteOptions absent;
  absent.condition.kind = WriteCondition::Kind::kAbsent;
  const Bytes content = AsBytes("z");
  EXPECT_EQ(store_.Write("a/small", std::span(&content, 1), absent).status().code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Get("a/small"), "y");
  EXPECT_THAT(Keys(), ElementsAre("a/small"));
}

TEST_F(FileStoreTest, SaysThatTheDiskIsFull) {
  // /dev/full cannot be a root, so the limit on file sizes plays the disk that takes no more.
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto written = Put("big", std::string(5 << 20, 'x'));
    auto writer = store_.OpenWriter("streamed", {});
    Status streamed = (*writer)->Write(AsBytes(std::string(5 << 20, 'x')));
    const bool clean = store_.ListUploads("")->empty() && Keys().empty() && !(*writer)->Commit().ok();
    ::_exit(!written.ok() && written.status().code() == ErrorCode::kIo && !streamed.ok() && clean ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// What a killed writer leaves is the old object, and an upload that can be found and removed.
TEST_F(FileStoreTest, SurvivesKillNine) {
  ASSERT_TRUE(Put("victim", std::string(3 << 20, '0')).ok());
  for (int round = 0; round < 30; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (char fill = '1';; fill = fill == '9' ? '1' : static_cast<char>(fill + 1)) {
        (void)Put("victim", std::string(3 << 20, fill)).ok();
      }
    }
    ::usleep(static_cast<useconds_t>(500 + 977 * round % 20000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string content = Get("victim");
    ASSERT_EQ(content, std::string(3 << 20, content[0])) << content.substr(0, 200);
  }
  const auto uploads = store_.ListUploads("");
  for (const UnfinishedUpload& upload : *uploads) {
    EXPECT_EQ(upload.key, "victim");
    EXPECT_TRUE(store_.AbortUpload(upload.key, upload.upload_id).ok());
  }
  EXPECT_THAT(*store_.ListUploads(""), IsEmpty());
}

TEST_F(FileStoreTest, PagesThroughALargeFolderOnce) {
  for (int i = 0; i < 500; ++i) {
    std::ofstream(root() + "/" + std::to_string(1000 + i));
  }
  ListOptions options = {.max_keys = 100};
  options.page_token = store_.List(options)->next_page_token;
  // The walk goes on where it stopped; a store that never saw the first page begins anew.
  FileStore other({root()});
  EXPECT_EQ(store_.List(options)->objects.front().key, "1100");
  EXPECT_EQ(other.List(options)->objects.front().key, "1100");
}

}  // namespace
}  // namespace assay::storage
