// What is PostgreSQL's alone: a server that goes away, writers that overlap, servers that refuse.
#include "samplestore/postgres/postgres_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "samplestore/postgres/connection.h"
#include "samplestore/testing/postgres_server.h"
#include "samplestore/testing/store_target.h"

namespace assay::samplestore {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeMeasurement;
using testing::Must;
using testing::PostgresServer;
using testing::SharedPostgres;

constexpr double kLease = 30;

std::string NewUrl() {
  return SharedPostgres().Url("t" + RandomUid());
}

std::string OpenError(const std::string& url, StoreAccess access = StoreAccess::kReadWrite) {
  const auto store = OpenStore(url, access);
  return store.ok() ? "no error" : store.status().message();
}

std::unique_ptr<PostgresConnection> Connect(const std::string& url) {
  return Must(PostgresConnection::Open(*ParsePostgresUrl(url), StoreAccess::kReadWrite, {}));
}

std::vector<std::string> NewSince(SampleStore& store, int64_t after) {
  std::vector<std::string> uids;
  const auto rows = *store.ListRows({.after = after}, {});
  for (const MeasurementRow& row : rows) {
    uids.push_back(row.uid);
  }
  return uids;
}

TEST(StoreNameTest, HasNoPasswordAndTellsStoresApart) {
  EXPECT_EQ(StoreName(""), DefaultStoreUrl());
  EXPECT_EQ(StoreName("runs.db"), "sqlite:///runs.db");
  EXPECT_EQ(StoreName("sqlite:////data/me@home/a?b.db"), "sqlite:////data/me@home/a?b.db");
  EXPECT_EQ(StoreName("postgres://me:secret@host:5433/runs?sslmode=require"), "postgresql://me@host:5433/runs");
  EXPECT_EQ(StoreName("postgresql://host/runs?password=secret&user=me"), "postgresql://me@host/runs");
  EXPECT_EQ(StoreName("postgresql://host/runs?schema=assay"), "postgresql://host/runs");
  EXPECT_EQ(StoreName("postgresql://host/runs?schema=team"), "postgresql://host/runs?schema=team");
  EXPECT_EQ(StoreName("postgresql://me:secret@host:port/runs?none=1"), "postgresql://...");
  EXPECT_EQ(StoreName("mysql://me:secret@host/runs"), "mysql://...");
  EXPECT_THAT(OpenError("mysql://me:secret@host/runs"), HasSubstr("cannot understand store 'mysql://...'"));
}

// A reader that goes on behind the newest that it saw must not miss one that was on its way in before that.
TEST(PostgresStoreTest, AReaderWaitsForTheWriterWhoWasFirst) {
  const std::string url = NewUrl();
  const auto store = Must(OpenStore(url));
  ASSERT_TRUE(store->Append(MakeMeasurement("u1", 1, Outcome::kValid)).ok());
  const int64_t seen = (*store->ListRows({}, {}))[0].arrival;
  {
    const auto slow = Connect(url);
    ASSERT_TRUE(slow->Begin().ok());
    ASSERT_TRUE(slow->Execute("INSERT INTO measurements(uid, point_id, outcome, measured_at) VALUES ('u2', 1, 'valid', "
                              "'2026-01-01T00:00:00Z')")
                    .ok());
    ASSERT_TRUE(store->Append(MakeMeasurement("u3", 1, Outcome::kValid)).ok());
    EXPECT_EQ(*store->Count({}), 2);
    EXPECT_THAT(NewSince(*store, seen), IsEmpty());
    ASSERT_TRUE(slow->Commit().ok());
  }
  EXPECT_THAT(NewSince(*store, seen), ElementsAre("u2", "u3"));
}

TEST(PostgresStoreTest, AReaderOfALockedStoreIsToldSo) {
  const std::string url = NewUrl();
  ASSERT_TRUE(OpenStore(url).ok());
  const auto other = Connect(url);
  ASSERT_TRUE(other->Begin().ok());
  ASSERT_TRUE(other->Execute("LOCK TABLE measurements IN ACCESS EXCLUSIVE MODE").ok());
  const auto store = Must(OpenStore(url, StoreAccess::kReadOnly, {.longest_lock_seconds = 0.1}));
  EXPECT_THAT(store->Count({}).status().message(), HasSubstr("another program has locked it"));
  ASSERT_TRUE(other->Commit().ok());
  EXPECT_EQ(*store->Count({}), 0);
}

TEST(PostgresStoreTest, FollowersOfManyWritersMissNothing) {
  constexpr int kWriters = 3;
  constexpr int kEach = 40;
  const std::string url = NewUrl();
  const auto reader = Must(OpenStore(url));
  std::atomic<int> writing = kWriters;
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      const auto store = Must(OpenStore(url));
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(store->Append(MakeMeasurement(fmt::format("{}-{}", writer, i), i, Outcome::kValid)).ok());
      }
      --writing;
    });
  }
  int64_t seen = 0;
  int64_t count = 0;
  for (bool done = false; !done;) {
    done = writing == 0;
    const auto rows = *reader->ListRows({.after = seen, .settled = true}, {});
    count += std::ssize(rows);
    seen = rows.empty() ? seen : rows.back().arrival;
  }
  EXPECT_EQ(count, kWriters * kEach);
}

class OutageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::Create("outage");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<TemporaryDirectory>(*std::move(folder));
    ::setenv("XDG_DATA_HOME", folder_->path().c_str(), /*overwrite=*/1);
    auto server = PostgresServer::Start();
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
  }

  std::unique_ptr<SampleStore> Open(double longest_outage_seconds = 300) {
    StoreOptions options;
    options.longest_outage_seconds = longest_outage_seconds;
    options.on_outage = [this](std::string_view text) {
      const std::lock_guard lock(mutex_);
      told_ += fmt::format("{}\n", text);
    };
    return Must(OpenStore(server_->Url("runs"), StoreAccess::kReadWrite, options));
  }

  std::string told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }

  std::unique_ptr<TemporaryDirectory> folder_;
  std::unique_ptr<PostgresServer> server_;
  std::mutex mutex_;
  std::string told_;  // guarded by mutex_
};

TEST_F(OutageTest, WhatIsDoneMeanwhileWaitsForTheServerAndLosesNothing) {
  const auto store = Open();
  const MemoKey key = {"e-p.1", MakeMeasurement("", 1, Outcome::kValid).entity_id};
  const Claim claim = *store->TryClaim(key, "me", kLease, 1);
  ASSERT_TRUE(server_->Stop(/*crash=*/true).ok());
  std::jthread work([&] {
    EXPECT_EQ(*store->AppendClaimed(MakeMeasurement("u1", 1, Outcome::kValid), claim.fence), AppendResult::kAdded);
  });
  for (int tries = 0; tries < 30'000 && told().empty(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(server_->Restart().ok());
  work.join();
  EXPECT_THAT(told(), AllOf(HasSubstr("went away: waiting for it"), HasSubstr("is back after")));
  EXPECT_EQ(*store->Count({}), 1);
  EXPECT_FALSE(FileExists(store->RefusedFile()));
}

// Nobody could renew a lease while the server was away, however long that was.
TEST_F(OutageTest, AClaimOutlivesAnOutage) {
  const auto store = Open();
  const MemoKey key = {"e", "a.1"};
  const Claim claim = *store->TryClaim(key, "me", 0.05, 1);
  ASSERT_TRUE(server_->Stop().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_TRUE(server_->Restart().ok());
  EXPECT_EQ(store->TryClaim(key, "other", kLease, 1)->result, ClaimResult::kBusy);
  EXPECT_TRUE(*store->RenewClaim(key, claim.fence, kLease));
}

TEST_F(OutageTest, OneThatDoesNotEndIsOneLineAndWhatWasMeasuredIsLogged) {
  const auto store = Open(/*longest_outage_seconds=*/0.2);
  ASSERT_TRUE(server_->Stop().ok());
  const Status status = store->Append(MakeMeasurement("u1", 1, Outcome::kValid));
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("cannot reach store postgresql://"), HasSubstr("Connection refused"),
                                      HasSubstr("what was measured is in " + folder_->path())));
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
  EXPECT_THAT(*ReadFile(store->RefusedFile()), HasSubstr("\"u1\""));
}

/// A server that dies between what was committed and its answer.
TEST_F(OutageTest, WhatWasWrittenAlreadyIsNotWrittenTwice) {
  const auto store = Open();
  ASSERT_TRUE(store->StartOperation({"o1", "explore", "demo", "", "", ""}).ok());
  std::atomic<bool> done = false;
  int64_t count = 0;
  std::jthread work([&] {
    for (; !done; ++count) {
      const Measurement measurement = MakeMeasurement(fmt::format("u{}", count), count, Outcome::kValid);
      const Claim claim = *store->TryClaim(KeyOf(measurement), "me", kLease, 1);
      ASSERT_EQ(claim.result, ClaimResult::kClaimed);
      ASSERT_EQ(*store->AppendClaimed(measurement, claim.fence), AppendResult::kAdded);
      ASSERT_TRUE(store->NoteResult("o1", measurement.uid, false).ok());
    }
  });
  for (int i = 0; i < 6; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    ASSERT_TRUE(server_->Stop(/*crash=*/true).ok());
    ASSERT_TRUE(server_->Restart().ok());
  }
  done = true;
  work.join();
  EXPECT_GT(count, 0);
  EXPECT_EQ(*store->Count({}), count);
  EXPECT_EQ((*store->ListOperations())[0].measured, count);
  EXPECT_EQ(std::ssize(*store->ListResults("o1", -1, 1'000'000)), count);
}

TEST(PostgresStoreTest, WhatCannotBeOpenedIsOneLine) {
  EXPECT_THAT(OpenError("postgresql://127.0.0.1:1/db"),
              AllOf(HasSubstr("cannot reach store postgresql://127.0.0.1:1/db"), HasSubstr("Connection refused"),
                    HasSubstr("whether the server runs")));
  const std::string server = SharedPostgres().url_of_database();
  EXPECT_THAT(OpenError(server.substr(0, server.rfind('/')) + "/nothing"),
              AllOf(HasSubstr("database \"nothing\" does not exist"), HasSubstr("createdb")));
  EXPECT_THAT(OpenError(NewUrl(), StoreAccess::kReadOnly), HasSubstr("there is no store at postgresql://"));
  EXPECT_THAT(OpenError(server + "?schema="), HasSubstr("empty schema"));
  EXPECT_THAT(OpenError(server + "?sslmod=require"), HasSubstr("invalid URI query parameter: \"sslmod\""));
}

TEST(PostgresStoreTest, PasswordsAreNotRepeated) {
  const auto address = ParsePostgresUrl("postgresql://me:secret@host:5433/runs?schema=team&sslmode=disable");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->name, "postgresql://me@host:5433/runs?schema=team");
  EXPECT_EQ(address->schema, "team");
  EXPECT_EQ(address->connection, "postgresql://me:secret@host:5433/runs?sslmode=disable");
  EXPECT_EQ(address->file_name, "me_host_5433_runs_schema_team");
  EXPECT_THAT(OpenError("postgresql://me:secret@127.0.0.1:1/db"), ::testing::Not(HasSubstr("secret")));
  EXPECT_THAT(OpenError("postgresql://me:secret@[oops"), ::testing::Not(HasSubstr("secret")));
}

TEST(PostgresStoreTest, LeavesTheTablesOfOthersAlone) {
  const std::string schema = "t" + RandomUid();
  const auto others = Connect(SharedPostgres().Url(schema));
  ASSERT_TRUE(others->Execute(fmt::format("CREATE SCHEMA {0}; CREATE TABLE {0}.orders(id INT)", schema)).ok());
  EXPECT_THAT(OpenError(SharedPostgres().Url(schema)),
              AllOf(HasSubstr("tables of another program"), HasSubstr(schema)));
}

TEST(PostgresStoreTest, ManyMakeOneStore) {
  const std::string url = NewUrl();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(OpenError(url), "no error"); });
  }
}

TEST(PostgresStoreTest, WhoMayNotWriteIsToldSo) {
  const std::string url = NewUrl();
  ASSERT_TRUE(OpenStore(url).ok());
  const std::string schema = url.substr(url.rfind('=') + 1);
  const auto owner = Connect(url);
  ASSERT_TRUE(owner
                  ->Execute(fmt::format("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA {0} "
                                        "TO guest; GRANT SELECT ON ALL TABLES IN SCHEMA {0} TO guest",
                                        schema))
                  .ok());
  std::string guest_url = url;
  guest_url.replace(guest_url.find("assay_test"), std::string_view("assay_test").size(), "guest");
  const auto store = OpenStore(guest_url);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(*(*store)->Count({}), 0);
  const Status status = (*store)->StartOperation({"o1", "explore", "demo", "", "", ""});
  EXPECT_EQ(status.code(), ErrorCode::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr("permission denied for table operations"));
  ASSERT_TRUE(owner->Execute("DROP OWNED BY guest; DROP ROLE guest").ok());
}

TEST(PostgresStoreTest, WhoMayInsertButNotCreateWritesAsBefore) {
  const std::string url = NewUrl();
  const std::string schema = url.substr(url.rfind('=') + 1);
  std::string guest_url = url;
  guest_url.replace(guest_url.find("assay_test"), std::string_view("assay_test").size(), "clerk");
  ASSERT_TRUE(OpenStore(url).ok());
  const auto owner = Connect(url);
  ASSERT_TRUE(owner
                  ->Execute(fmt::format("DROP ROLE IF EXISTS clerk; CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA {0} "
                                        "TO clerk; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {0} TO "
                                        "clerk; GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {0} TO clerk",
                                        schema))
                  .ok());
  const auto append = [&](SampleStore& store, const char* uid) {
    return store.Append(MakeMeasurement(uid, 1, Outcome::kValid)).message();
  };
  const auto clerk = OpenStore(guest_url);
  ASSERT_TRUE(clerk.ok()) << clerk.status().message();
  EXPECT_EQ(append(**clerk, "u1"), "") << "the store has no name, and gets none";
  EXPECT_EQ(append(**OpenStore(url), "u2"), "") << "here its owner names it, and lets nobody else read that";
  EXPECT_EQ(append(**clerk, "u3"), "");
  EXPECT_EQ(append(**OpenStore(guest_url), "u4"), "");
  EXPECT_EQ(*(*OpenStore(url))->Count({}), 4);
  ASSERT_TRUE(owner->Execute("DROP OWNED BY clerk; DROP ROLE clerk").ok());
}

}  // namespace
}  // namespace assay::samplestore
