#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "storage/copy/copy_object.h"
#include "storage/copy/key_spool.h"
#include "storage/copy/part_journal.h"
#include "storage/copy/range_journal.h"
#include "storage/copy/read_through.h"
#include "storage/copy/same_content.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/file/file_store.h"
#include "storage/mapped_file.h"
#include "storage/memory/memory_store.h"

namespace assay::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Bytes AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string Pattern(size_t bytes) {
  std::string text(bytes, '\0');
  uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

void Put(ObjectStore& store, const std::string& key, std::string_view content) {
  const Bytes bytes = AsBytes(content);
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

class CopyTest : public testing::Test {
 protected:
  CopyTest()
      : folder_(*TemporaryDirectory::Create("copy")), files_(FileStoreOptions{folder_.path() + "/files", false}) {}

  TemporaryDirectory folder_;
  FileStore files_;
  MemoryStore one_{"one"};
  MemoryStore two_{"two"};
};

/// Notes how often it was told of the file that it reads into.
class NotingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> Read(const std::string& key, std::span<const ReadPiece> pieces,
                          const ReadOptions& options) override {
    Note(options, pieces.front().memory);
    return inner().Read(key, pieces, options);
  }
  Result<ObjectInfo> ReadWhole(const std::string& key, const std::function<MutableBytes(int64_t size)>& allocate,
                               const ReadOptions& options) override {
    const auto noted = [&](int64_t size) {
      const MutableBytes memory = allocate(size);
      Note(options, memory);
      return memory;
    };
    return inner().ReadWhole(key, noted, options);
  }
  int files = 0;

 private:
  void Note(const ReadOptions& options, MutableBytes memory) {
    files += options.file != nullptr && options.file->OffsetOf(memory) ? 1 : 0;
  }
};

TEST_F(CopyTest, WhoeverReadsIntoAFileIsToldOfIt) {
  const auto memory = std::make_shared<MemoryStore>("memory");
  const std::string content = Pattern(32 << 20);
  Put(*memory, "k", content);
  NotingStore source(memory);
  ObjectCopyOptions options;
  ASSERT_TRUE(CopyObject(source, "k", files_, "whole", options).ok());
  EXPECT_EQ(source.files, 1);
  options.journal_folder = folder_.path() + "/journals";
  ASSERT_TRUE(CopyObject(source, "k", files_, "with notes", options).ok());
  EXPECT_EQ(source.files, 2);
  EXPECT_TRUE(Get(files_, "with notes") == content);
}

// A full disk is when things are removed.
TEST(KeySpool, KeepsFewKeysInMemoryAndManyInAFile) {
  for (const int count : {3, 200'000}) {
    KeySpool keys;
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(keys.Add(std::string("key\n\0", 5) + std::to_string(i)).ok());
    }
    int next = 0;
    size_t largest = 0;
    const Status status = keys.ForEachBatch(1000, [&](const std::vector<std::string>& batch) {
      for (const std::string& key : batch) {
        EXPECT_EQ(key, std::string("key\n\0", 5) + std::to_string(next++));
      }
      largest = std::max(largest, batch.size());
      return Status::Ok();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(next, count);
    EXPECT_LE(largest, 1000U);
  }
}

TEST_F(CopyTest, MovesBetweenEveryPairOfStores) {
  const std::string content = Pattern(9 << 20);
  Put(one_, "a b", content);
  ASSERT_TRUE(CopyObject(one_, "a b", two_, "in memory", {}).ok());
  EXPECT_TRUE(Get(two_, "in memory") == content);
  ASSERT_TRUE(CopyObject(two_, "in memory", files_, "deep/file", {}).ok());
  EXPECT_TRUE(Get(files_, "deep/file") == content);
  ASSERT_TRUE(CopyObject(files_, "deep/file", one_, "back", {}).ok());
  EXPECT_TRUE(Get(one_, "back") == content);
  ASSERT_TRUE(CopyObject(one_, "back", one_, "beside", {}).ok());
  EXPECT_TRUE(Get(one_, "beside") == content);
}

TEST_F(CopyTest, LeavesNothingOfAMissingObject) {
  const auto copied = CopyObject(one_, "gone", files_, "file", {});
  EXPECT_EQ(copied.status().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(FileExists(folder_.path() + "/files/file"));
}

TEST_F(CopyTest, EmptyObjectsAreObjects) {
  Put(one_, "empty", "");
  ASSERT_TRUE(CopyObject(one_, "empty", files_, "empty", {}).ok());
  ASSERT_TRUE(CopyObject(files_, "empty", two_, "empty", {}).ok());
  EXPECT_EQ(Get(two_, "empty"), "");
}

TEST_F(CopyTest, ReadsThroughInWindows) {
  const std::string content = Pattern(1000);
  Put(one_, "k", content);
  ReadThroughOptions options;
  options.window_bytes = 300;
  options.offset = 50;
  options.length = 901;
  std::string got;
  const ObjectInfo info = **one_.Stat("k");
  ASSERT_TRUE(ReadThrough(one_, info, options, [&got](Bytes bytes) {
                got.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                return Status::Ok();
              }).ok());
  EXPECT_EQ(got, content.substr(50, 901));
  Put(one_, "k", Pattern(999));
  EXPECT_FALSE(ReadThrough(one_, info, options, [](Bytes) { return Status::Ok(); }).ok());
}

TEST_F(CopyTest, AWholeReadInWindowsIsComparedAtItsEnd) {
  Put(one_, "k", Pattern(1000));
  ObjectInfo info = **one_.Stat("k");
  info.checksum = ChecksumOf(ChecksumKind::kCrc32c, AsBytes("something else"));
  ReadThroughOptions options;
  options.window_bytes = 300;
  const auto take = [](Bytes) { return Status::Ok(); };
  EXPECT_EQ(ReadThrough(one_, info, options, take).code(), ErrorCode::kIo);
  EXPECT_TRUE(ReadChecksum(one_, info, ChecksumKind::kCrc32c, {}).ok());
  options.length = 999;
  EXPECT_TRUE(ReadThrough(one_, info, options, take).ok());
  options.length = -1;
  options.read.verify = false;
  EXPECT_TRUE(ReadThrough(one_, info, options, take).ok());
}

TEST_F(CopyTest, ComparesFilesByTheChecksumOfTheOtherSide) {
  Put(one_, "k", "some content");
  Put(files_, "same", "some content");
  Put(files_, "other", "same length!");
  const ObjectInfo remote = **one_.Stat("k");
  EXPECT_TRUE(*SameContent(one_, remote, files_, **files_.Stat("same"), nullptr));
  EXPECT_FALSE(*SameContent(one_, remote, files_, **files_.Stat("other"), nullptr));
}

TEST_F(CopyTest, AJournalIsReadBackAndIgnoresATornLine) {
  Put(files_, "k", "content");
  const auto mapped = files_.Map("k");
  ASSERT_TRUE(mapped.ok());
  const std::string folder = folder_.path() + "/journals";
  std::string path;
  {
    const auto journal = PartJournal::Open(folder, *mapped, "file:///k", "s3://b/k");
    ASSERT_TRUE(journal.ok() && *journal != nullptr);
    EXPECT_EQ((*journal)->earlier(), nullptr);
    (*journal)->OnBegin({"upload-1", "token", 5 << 20, {}});
    (*journal)->OnPart({1, 5 << 20, "etag1", MakeCrc32c(7)});
    const auto other = PartJournal::Open(folder, *mapped, "file:///k", "s3://b/k");
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(*other, nullptr) << "held by the first";
  }
  {
    const auto journal = PartJournal::Open(folder, *mapped, "file:///k", "s3://b/k");
    const ResumableUpload* earlier = (*journal)->earlier();
    ASSERT_NE(earlier, nullptr);
    EXPECT_EQ(earlier->upload_id, "upload-1");
    ASSERT_EQ(earlier->parts.size(), 1U);
    EXPECT_EQ(earlier->parts[0].checksum, MakeCrc32c(7));
    (*journal)->Remove();
  }
  const auto journal = PartJournal::Open(folder, *mapped, "file:///k", "s3://b/k");
  EXPECT_EQ((*journal)->earlier(), nullptr);
}

TEST_F(CopyTest, ARangeJournalKnowsItsVersionAndWhatTheFileHolds) {
  const std::string content = Pattern(1000);
  const ObjectInfo object = {.key = "k", .size = 1000, .etag = "e1"};
  const std::string id(32, 'a');
  const auto open = [&](const ObjectInfo& of) { return RangeJournal::Open(*files_.OpenNotes(id), of); };
  const auto range = [&content](int64_t offset, int64_t bytes) {
    return PartChecksum{offset, bytes,
                        ChecksumOf(ChecksumKind::kCrc32c,
                                   AsBytes(content).subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes)))};
  };
  {
    const auto journal = open(object);
    ASSERT_NE(journal, nullptr);
    journal->Add(range(600, 400));
    journal->Add(range(0, 200));
    journal->Add(range(100, 200));
    EXPECT_EQ(open(object), nullptr) << "held by the first";
  }
  std::ofstream(folder_.path() + "/files/.assay/uploads/" + id + ".notes", std::ios::app) << "{\"offset\":300,\"by";
  const auto offsets = [&](const std::string& file) {
    std::vector<int64_t> found;
    for (const PartChecksum& part : open(object)->Check(AsBytes(file))) {
      found.push_back(part.offset);
    }
    return found;
  };
  EXPECT_THAT(offsets(content), ElementsAre(0, 600));
  std::string damaged = content;
  damaged[700] ^= 1;
  EXPECT_THAT(offsets(damaged), ElementsAre(0));
  const ObjectInfo changed = {.key = "k", .size = 1000, .etag = "e2"};
  EXPECT_THAT(open(changed)->Check(AsBytes(content)), IsEmpty());
  EXPECT_THAT(offsets(content), IsEmpty()) << "forgotten";
}

// The notes on what has been received lie below the folder that was named: a link there leads nowhere.
TEST_F(CopyTest, NotesAreNotWrittenThroughLinks) {
  Put(one_, "k", Pattern(32 << 20));
  const std::string outside = folder_.path() + "/outside";
  std::filesystem::create_directory(outside);
  std::ofstream(outside + "/theirs") << "theirs";
  const std::string root = folder_.path() + "/files";
  ObjectCopyOptions options;
  options.journal_folder = folder_.path() + "/journals";
  const auto expect_refused = [&](const std::string& why) {
    const auto copied = CopyObject(one_, "k", files_, "k", options);
    ASSERT_FALSE(copied.ok());
    EXPECT_THAT(copied.status().message(), testing::HasSubstr(why));
    EXPECT_EQ(*ReadFile(outside + "/theirs"), "theirs");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(outside), {}), 1);
  };
  std::filesystem::create_directories(root + "/.assay/uploads");
  const std::string id = Sha256Hex(one_.Uri("k") + "\nk").substr(0, 32);
  std::filesystem::create_symlink(outside + "/theirs", root + "/.assay/uploads/" + id + ".notes");
  expect_refused(".notes is a symbolic link or no file");
  std::filesystem::remove_all(root + "/.assay");
  std::filesystem::create_directory_symlink(outside, root + "/.assay");
  expect_refused(".assay is no folder or a symbolic link");
}

TEST_F(CopyTest, AFileThatIsCutShortReadsAsZerosAndIsNotPublished) {
  Put(files_, "k", Pattern(100'000));
  const auto mapped = files_.Map("k");
  ASSERT_TRUE(mapped.ok());
  ASSERT_EQ(::truncate((folder_.path() + "/files/k").c_str(), 10), 0);
  EXPECT_EQ(mapped->bytes()[90'000], std::byte{0});
  EXPECT_EQ(mapped->CheckUnchanged().code(), ErrorCode::kFailedPrecondition);
}

TEST_F(CopyTest, AFileThatChangesWhileItIsSentIsNotPublished) {
  Put(files_, "k", "content");
  const auto mapped = files_.Map("k");
  ASSERT_TRUE(mapped.ok());
  EXPECT_TRUE(mapped->CheckUnchanged().ok());
  std::ofstream(folder_.path() + "/files/k", std::ios::app) << "more";
  EXPECT_EQ(mapped->CheckUnchanged().code(), ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace assay::storage
