// How opening an SQLite store goes, and goes wrong.
#include "samplestore/sqlite/sqlite_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include "base/files.h"
#include "samplestore/sample_store.h"
#include "samplestore/sqlite/connection.h"
#include "samplestore/testing/store_target.h"

namespace assay::samplestore {
namespace {

using ::testing::HasSubstr;
using testing::MakeMeasurement;
using Access = SqliteConnection::Access;

class SqliteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("store");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    path_ = directory_->path() + "/sub/runs.db";
    store_ = Reopen();
  }

  std::unique_ptr<SampleStore> Reopen() {
    auto store = OpenStore("sqlite:///" + path_);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return store.ok() ? *std::move(store) : nullptr;
  }

  void Add(const Measurement& measurement) {
    const Status status = store_->Append(measurement);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::string OpenError(const std::string& url, StoreAccess access = StoreAccess::kReadWrite) {
    const auto store = OpenStore(url, access);
    return store.ok() ? "no error" : store.status().message();
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::string path_;
  std::unique_ptr<SampleStore> store_;
};

int64_t g_instructions = 0;

int CountInstruction(void*) {
  ++g_instructions;
  return 0;
}

// Asks SQLite to count what it does, on each connection that is opened from here on.
int CountOn(sqlite3* connection, const char**, const sqlite3_api_routines*) {
  sqlite3_progress_handler(connection, 1, &CountInstruction, nullptr);
  return SQLITE_OK;
}

TEST_F(SqliteStoreTest, NotingAResultCostsTheSameHoweverManyThereAre) {
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(&CountOn));
  store_ = Reopen();
  sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&CountOn));
  const auto cost = [this] {
    g_instructions = 0;
    EXPECT_TRUE(store_->NoteResult("o1", "u1", false).ok());
    return g_instructions;
  };
  cost();
  const int64_t of_the_second = cost();
  for (int i = 0; i < 200; ++i) {
    cost();
  }
  EXPECT_GT(of_the_second, 0);
  EXPECT_LE(cost(), 2 * of_the_second);
}

TEST_F(SqliteStoreTest, RefusesAFileThatIsNoStore) {
  const std::string text = directory_->path() + "/notes.txt";
  ASSERT_TRUE(WriteFileAtomically(text, std::string(5000, 'x')).ok());
  EXPECT_THAT(OpenError("sqlite:///" + text), HasSubstr("is not a store: it is no SQLite database"));
  EXPECT_EQ(*ReadFile(text), std::string(5000, 'x'));

  const std::string other = directory_->path() + "/other.db";
  {
    const auto database = SqliteConnection::Open(other, Access::kReadWrite);
    ASSERT_TRUE((*database)->Execute("CREATE TABLE t(a)").ok());
  }
  EXPECT_THAT(OpenError("sqlite:///" + other), HasSubstr("SQLite database of another program"));
  EXPECT_THAT(OpenError("sqlite:///" + directory_->path()), HasSubstr("is a folder"));
  EXPECT_THAT(OpenStore(directory_->path(), StoreAccess::kReadOnly).status().message(), HasSubstr("is a folder"));
  const std::string pipe = directory_->path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(OpenError(pipe), HasSubstr("is no file"));
  EXPECT_THAT(OpenStore(pipe, StoreAccess::kReadOnly).status().message(), HasSubstr("is no file"));
}

TEST_F(SqliteStoreTest, RefusesATruncatedStore) {
  for (int i = 0; i < 50; ++i) {
    Add(MakeMeasurement(fmt::format("u{}", i), i, Outcome::kValid));
  }
  store_.reset();
  const std::string whole = *ReadFile(path_);
  ASSERT_TRUE(WriteFileAtomically(path_, whole.substr(0, whole.size() / 3)).ok());
  const auto store = OpenStore("sqlite:///" + path_);
  const std::string message = store.ok() ? (*store)->Count({}).status().message() : store.status().message();
  EXPECT_THAT(message, HasSubstr("is damaged"));
}

TEST_F(SqliteStoreTest, RefusesTermsOfAnotherKind) {
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  store_.reset();
  const std::string whole = *ReadFile(path_);
  for (const char* damage : {R"(UPDATE terms SET value = '[1,"speed"]' WHERE kind = 'targets')",
                             R"(UPDATE terms SET value = '{"speed":1}' WHERE kind = 'units')"}) {
    ASSERT_TRUE(WriteFileAtomically(path_, whole).ok());
    {
      const auto database = SqliteConnection::Open(path_, Access::kReadWrite);
      ASSERT_TRUE((*database)->Execute(damage).ok()) << damage;
    }
    const auto store = OpenStore("sqlite:///" + path_);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_THAT((*store)->List({}, false).status().message(), HasSubstr("is damaged")) << damage;
  }
}

TEST_F(SqliteStoreTest, ReadsAStoreWithoutMakingOne) {
  EXPECT_THAT(OpenError("sqlite:///" + directory_->path() + "/none.db", StoreAccess::kReadOnly),
              HasSubstr("there is no store at"));
  EXPECT_FALSE(FileExists(directory_->path() + "/none.db"));
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  const auto reader = OpenStore("sqlite:///" + path_, StoreAccess::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(*(*reader)->Count({}), 1);
  EXPECT_EQ((*reader)->Append(MakeMeasurement("u2", 2, Outcome::kValid)).code(), ErrorCode::kPermissionDenied);
}

TEST_F(SqliteStoreTest, ReadsAnImmutableCopy) {
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  store_.reset();
  const auto database = SqliteConnection::Open(path_, Access::kImmutable);
  ASSERT_TRUE(database.ok());
  EXPECT_EQ(*(*database)->QueryInteger("SELECT count(*) FROM measurements"), 1);
}

TEST_F(SqliteStoreTest, WhoMayNotWriteIntoTheFolderIsToldWhatOthersWrite) {
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  store_.reset();
  const std::string folder = path_.substr(0, path_.rfind('/'));
  constexpr uid_t kNobody = 65534;
  ::chmod(directory_->path().c_str(), 0755);
  ::chmod(folder.c_str(), 0555);
  const int self = ::setfsuid(kNobody);
  const auto reader = OpenStore("sqlite:///" + path_, StoreAccess::kReadOnly);
  ::setfsuid(static_cast<uid_t>(self));
  ::chmod(folder.c_str(), 0755);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(*(*reader)->Count({}), 1);
  EXPECT_TRUE((*reader)->CheckSame().ok());
  store_ = Reopen();
  Add(MakeMeasurement("u2", 2, Outcome::kValid));
  EXPECT_THAT((*reader)->CheckSame().message(), HasSubstr("was changed since it was opened"));
}

TEST_F(SqliteStoreTest, OneInMemoryIsOpenedAndStaysTheSame) {
  const auto store = OpenStore("sqlite:///:memory:");
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_TRUE((*store)->CheckSame().ok());
}

TEST_F(SqliteStoreTest, UnderstandsUrls) {
  EXPECT_THAT(OpenError("mysql://host/db"), HasSubstr("sqlite:///PATH"));
  EXPECT_THAT(OpenError("sqlite://x.db"), HasSubstr("sqlite:///PATH"));
  EXPECT_TRUE(OpenStore(directory_->path() + "/plain path?#%.db").ok());
  EXPECT_TRUE(FileExists(directory_->path() + "/plain path?#%.db"));
  EXPECT_TRUE(OpenStore("sqlite:////" + directory_->path() + "/slashes.db").ok());
}

TEST_F(SqliteStoreTest, AFullDiskIsOneLineAndLeavesTheStoreWhole) {
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  store_.reset();
  const auto database = *SqliteConnection::Open(path_, Access::kReadWrite);
  const int64_t pages = *database->QueryInteger("PRAGMA page_count");
  ASSERT_TRUE(database->Execute(fmt::format("PRAGMA max_page_count = {}", pages)).ok());
  const Status status = database->Execute("CREATE TABLE filler AS SELECT zeroblob(1000000) AS bytes");
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_THAT(status.message(), HasSubstr("the disk is full"));
  EXPECT_EQ(*Reopen()->Count({}), 1);
}

TEST_F(SqliteStoreTest, AnErrorOfTheDiskSaysWhatToDo) {
  EXPECT_EQ(SqliteStatus(SQLITE_IOERR_SHMSIZE, "disk I/O error", "/runs.db").message(),
            "cannot read or write store /runs.db: the system reports an error of the disk, as a full one can be (free "
            "some space, check the disk, or choose another place)");
}

TEST_F(SqliteStoreTest, AnEmptyFileIsAStoreThatNothingWasStoredIn) {
  const std::string empty = directory_->path() + "/empty.db";
  ASSERT_TRUE(WriteFileAtomically(empty, "").ok());
  EXPECT_THAT(OpenError("sqlite:///" + empty, StoreAccess::kReadOnly),
              HasSubstr("/empty.db is empty: nothing was stored in it (measure something first"));
  EXPECT_TRUE(OpenStore("sqlite:///" + empty).ok());
}

TEST_F(SqliteStoreTest, AFolderThatCannotBeWrittenIsOneLine) {
  EXPECT_THAT(OpenError("sqlite:////proc/self/runs.db"), HasSubstr("/proc/self"));
}

}  // namespace
}  // namespace assay::samplestore
