#include "base/files.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace assay {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created = TemporaryDirectory::Create("assay-files-test");
    ASSERT_TRUE(created.ok());
    folder_ = std::make_unique<TemporaryDirectory>(std::move(created).value());
  }
  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }
  size_t EntryCount() const {
    const std::filesystem::directory_iterator entries(folder_->path());
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
  }
  std::unique_ptr<TemporaryDirectory> folder_;
};

TEST_F(FilesTest, WritesAndReadsBack) {
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(WriteFileAtomically(Path("x"), content).ok());
  EXPECT_EQ(*ReadFile(Path("x")), content);
  EXPECT_EQ(EntryCount(), 1);
}

TEST_F(FilesTest, ReadsFilesThatClaimToBeEmpty) {
  EXPECT_THAT(*ReadFile("/proc/self/stat"), HasSubstr("base_test"));
}

TEST_F(FilesTest, ReadsMoreThanOneBlock) {
  const std::string content(300'000, 'x');
  ASSERT_TRUE(WriteFileAtomically(Path("x"), content).ok());
  EXPECT_EQ(*ReadFile(Path("x")), content);
}

TEST_F(FilesTest, ErrorsNameThePath) {
  EXPECT_EQ(ReadFile(Path("none")).status().code(), ErrorCode::kNotFound);
  EXPECT_THAT(ReadFile(Path("none")).status().message(), HasSubstr("/none"));
  EXPECT_EQ(ReadFile(folder_->path()).status().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(WriteFileAtomically(folder_->path(), "x").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(WriteFileAtomically(Path("no/such"), "x").code(), ErrorCode::kNotFound);
}

TEST_F(FilesTest, RefusesToReplaceADevice) {
  EXPECT_EQ(WriteFileAtomically("/dev/null", "x").code(), ErrorCode::kInvalidArgument);
  struct stat info;
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST_F(FilesTest, WritesThroughALink) {
  ASSERT_TRUE(WriteFileAtomically(Path("target"), "old").ok());
  std::filesystem::create_symlink(Path("target"), Path("link"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(*ReadFile(Path("target")), "new");
}

TEST_F(FilesTest, UncommittedFileLeavesNothing) {
  {
    auto file = AtomicFile::Create(Path("x"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("half").ok());
    EXPECT_EQ(EntryCount(), 1);
  }
  EXPECT_EQ(EntryCount(), 0);
}

TEST_F(FilesTest, MovedAtomicFileStillCommits) {
  auto file = AtomicFile::Create(Path("x"));
  ASSERT_TRUE(file.ok());
  AtomicFile moved = std::move(file).value();
  ASSERT_TRUE(moved.Write("whole").ok());
  ASSERT_TRUE(moved.Commit().ok());
  EXPECT_EQ(*ReadFile(Path("x")), "whole");
  EXPECT_FALSE(moved.Write("more").ok());
}

// A disk that fills up in the middle of a write, played by a limit on the size of files in a child process.
int WriteBeyondFileLimit(const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {1000, 1000};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  auto file = AtomicFile::Create(path);
  if (!file.ok() || !file->Write(std::string(900, 'x')).ok()) {
    return 1;
  }
  if (file->Write(std::string(900, 'x')).ok()) {
    return 2;
  }
  return file->Commit().ok() ? 3 : 0;
}

TEST_F(FilesTest, FullDiskLeavesTheOldFileAndNoOther) {
  ASSERT_TRUE(WriteFileAtomically(Path("x"), "old").ok());
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(WriteBeyondFileLimit(Path("x")));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(*ReadFile(Path("x")), "old");
  EXPECT_EQ(EntryCount(), 1);
}

TEST_F(FilesTest, DirectoriesAreMadeAndChecked) {
  EXPECT_TRUE(MakeDirectories(Path("a/b/c")).ok());
  EXPECT_TRUE(MakeDirectories(Path("a/b/c")).ok());
  EXPECT_TRUE(IsDirectory(Path("a/b/c")));
  EXPECT_TRUE(CheckWritableDirectory(Path("d")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(Path("d")));
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "").ok());
  EXPECT_FALSE(MakeDirectories(Path("file")).ok());
  EXPECT_FALSE(CheckWritableDirectory(Path("file/below")).ok());
  EXPECT_FALSE(CheckWritableDirectory("/proc/nowhere").ok());
}

TEST_F(FilesTest, MapsAFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("x"), "mapped").ok());
  auto mapped = MappedFile::Open(Path("x"));
  ASSERT_TRUE(mapped.ok());
  std::filesystem::remove(Path("x"));
  EXPECT_EQ((*mapped)->text(), "mapped");
  ASSERT_TRUE(WriteFileAtomically(Path("empty"), "").ok());
  EXPECT_TRUE((*MappedFile::Open(Path("empty")))->bytes().empty());
  EXPECT_EQ(MappedFile::Open(Path("none")).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(MappedFile::Open(folder_->path()).status().code(), ErrorCode::kInvalidArgument);
}

TEST_F(FilesTest, TemporaryDirectoryGoesWithItsContent) {
  const std::string path = folder_->path();
  ASSERT_TRUE(MakeDirectories(Path("a/b")).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("a/b/x"), "x").ok());
  folder_.reset();
  EXPECT_FALSE(FileExists(path));
}

// NIST's example of the one-block message, and a million letters for the block-wise path.
TEST_F(FilesTest, HashesAsSha256) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string letters(1'000'000, 'a');
  ASSERT_TRUE(WriteFileAtomically(Path("x"), letters).ok());
  EXPECT_EQ(*Sha256HexOfFile(Path("x")), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(Sha256Hex(letters), *Sha256HexOfFile(Path("x")));
  EXPECT_FALSE(Sha256HexOfFile(Path("none")).ok());
}

TEST(PlacesTest, FollowTheEnvironment) {
  EXPECT_THAT(ExecutablePath(), EndsWith("/base_test"));
  EXPECT_THAT(ShareDirectory(), EndsWith("/share/assay"));
  ::setenv("ASSAY_SHARE", "/elsewhere", 1);
  EXPECT_EQ(ShareDirectory(), "/elsewhere");
  ::unsetenv("ASSAY_SHARE");
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(UserDataDirectory(), "/data/assay");
  ::setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_THAT(UserDataDirectory(), AllOf(StartsWith("/"), EndsWith("/.local/share/assay")));
  ::unsetenv("XDG_DATA_HOME");
  EXPECT_THAT(UserCacheDirectory(), EndsWith("/assay"));
}

}  // namespace
}  // namespace assay
