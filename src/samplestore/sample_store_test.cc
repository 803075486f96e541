// What every SampleStore must do, and how opening one goes wrong.
#include "samplestore/sample_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "samplestore/sqlite_database.h"

namespace assay::samplestore {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Measurement Make(const std::string& uid, int64_t batch_size, Outcome outcome, double speed = 100) {
  Measurement measurement;
  measurement.uid = uid;
  measurement.experiment = "e";
  measurement.parameterized_id = "e-p.1";
  measurement.entity = {{"batch_size", batch_size}, {"flash", batch_size > 4}, {"gpu_model", space::Value()}};
  measurement.entity_id = space::EntityId(measurement.entity);
  measurement.outcome = outcome;
  if (outcome == Outcome::kInvalid) {
    measurement.depends_on = {{kJudgedBy, "1"}};
  }
  measurement.reason = outcome == Outcome::kValid ? "" : "because";
  measurement.properties = {{"speed", speed}, {"is_valid", int64_t{outcome == Outcome::kValid}}};
  measurement.units = {{"speed", "tokens/s"}};
  measurement.series = {{"loss", {3, 2, 1.5}}, {"empty", {}}};
  measurement.measured_at = fmt::format("2026-01-0{}T00:00:00Z", 1 + batch_size % 9);
  return measurement;
}

class SampleStoreTest : public testing::Test {
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

TEST_F(SampleStoreTest, KeepsWholeMeasurements) {
  const Measurement measurement = Make("u1", 4, Outcome::kValid);
  Add(measurement);
  store_ = Reopen();
  const auto found = store_->FindMeasured(KeyOf(measurement));
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ(ToJson(**found), ToJson(measurement));
}

TEST_F(SampleStoreTest, InvalidCountsAsMeasuredAndFailedDoesNot) {
  const Measurement invalid = Make("u1", 1, Outcome::kInvalid);
  const Measurement failed = Make("u2", 2, Outcome::kFailed);
  Add(invalid);
  Add(failed);
  EXPECT_TRUE(store_->FindMeasured(KeyOf(invalid))->has_value());
  EXPECT_FALSE(store_->FindMeasured(KeyOf(failed))->has_value());
  EXPECT_TRUE(store_->FindLatest(KeyOf(failed))->has_value());
  EXPECT_FALSE(store_->FindLatest({"e-p.1", "nothing"})->has_value());
  EXPECT_FALSE(store_->FindMeasured({"e-p.2", invalid.entity_id})->has_value());
}

TEST_F(SampleStoreTest, TheNewestMeasurementOfAPointCounts) {
  Add(Make("u1", 4, Outcome::kValid, 100));
  Add(Make("u2", 4, Outcome::kValid, 200));
  Add(Make("u3", 4, Outcome::kFailed));
  const MemoKey key = KeyOf(Make("", 4, Outcome::kValid));
  EXPECT_EQ((*store_->FindMeasured(key))->uid, "u2");
  EXPECT_EQ((*store_->FindLatest(key))->uid, "u3");
}

TEST_F(SampleStoreTest, AUidStandsOnlyOnce) {
  Add(Make("u1", 4, Outcome::kValid));
  EXPECT_THAT(store_->Append(Make("u1", 5, Outcome::kValid)).message(), HasSubstr("uid u1 already"));
  EXPECT_EQ(*store_->Count({}), 1);
}

TEST_F(SampleStoreTest, Filters) {
  for (int64_t batch_size = 1; batch_size <= 6; ++batch_size) {
    Add(Make(fmt::format("u{}", batch_size), batch_size, batch_size == 3 ? Outcome::kInvalid : Outcome::kValid));
  }
  EXPECT_EQ(*store_->Count({}), 6);
  EXPECT_EQ(*store_->Count({.experiment = "e"}), 6);
  EXPECT_EQ(*store_->Count({.experiment = "other"}), 0);
  EXPECT_EQ(*store_->Count({.outcome = Outcome::kInvalid}), 1);
  EXPECT_EQ(*store_->Count({.entity_id = Make("", 2, Outcome::kValid).entity_id}), 1);
  EXPECT_EQ(*store_->Count({.entity = {{"batch_size", int64_t{2}}}}), 1);
  EXPECT_EQ(*store_->Count({.entity = {{"flash", true}}}), 2);
  EXPECT_EQ(*store_->Count({.entity = {{"flash", false}, {"batch_size", int64_t{5}}}}), 0);
  EXPECT_EQ(*store_->Count({.entity = {{"gpu_model", space::Value()}}}), 6);
  EXPECT_EQ(*store_->Count({.entity = {{"nonsense", int64_t{1}}}}), 0);
  EXPECT_EQ(*store_->Count({.measured_since = "2026-01-05T00:00:00Z"}), 3);
  EXPECT_EQ(*store_->Count({.limit = 2, .offset = 5}), 1);
}

TEST_F(SampleStoreTest, PagesInBothDirections) {
  for (int64_t batch_size = 1; batch_size <= 5; ++batch_size) {
    Add(Make(fmt::format("u{}", batch_size), batch_size, Outcome::kValid));
  }
  const auto uids = [&](const MeasurementFilter& filter) {
    std::vector<std::string> list;
    const auto rows = store_->ListRows(filter, {});
    for (const MeasurementRow& row : *rows) {
      list.push_back(row.uid);
    }
    return list;
  };
  EXPECT_THAT(uids({.limit = 2}), ElementsAre("u1", "u2"));
  EXPECT_THAT(uids({.limit = 2, .offset = 4}), ElementsAre("u5"));
  EXPECT_THAT(uids({.newest_first = true, .limit = 2, .offset = 1}), ElementsAre("u4", "u3"));
}

TEST_F(SampleStoreTest, AReaderGoesOnWhereItWas) {
  Add(Make("u1", 1, Outcome::kValid));
  const int64_t seen = (*store_->ListRows({}, {}))[0].arrival;
  EXPECT_GT(seen, 0);
  EXPECT_EQ(*store_->Count({.after = seen}), 0);
  Add(Make("u2", 2, Outcome::kValid));
  const auto rows = *store_->ListRows({.after = seen}, {});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].uid, "u2");
  const auto whole = *store_->List({.after = seen}, false);
  ASSERT_THAT(whole, SizeIs(1));
  EXPECT_EQ(whole[0].arrival, rows[0].arrival);
  EXPECT_EQ((*store_->FindLatest(KeyOf(whole[0])))->arrival, rows[0].arrival);
}

TEST_F(SampleStoreTest, RowsHoldTheColumnsAskedFor) {
  Add(Make("u1", 8, Outcome::kValid, 123.5));
  const auto rows = store_->ListRows({}, {"speed", "batch_size", "flash", "gpu_model", "unheard_of", "is_valid"});
  ASSERT_TRUE(rows.ok());
  ASSERT_THAT(*rows, SizeIs(1));
  EXPECT_EQ((*rows)[0].parameterized_id, "e-p.1");
  EXPECT_EQ((*rows)[0].outcome, Outcome::kValid);
  EXPECT_THAT((*rows)[0].values, ElementsAre(space::Value(123.5), space::Value(int64_t{8}), space::Value(true),
                                             space::Value(), space::Value(), space::Value(int64_t{1})));
}

TEST_F(SampleStoreTest, ListsWithAndWithoutSeries) {
  Add(Make("u1", 8, Outcome::kValid));
  EXPECT_TRUE((*store_->List({}, false))[0].series.empty());
  EXPECT_THAT((*store_->List({}, true))[0].series.at("loss"), ElementsAre(3, 2, 1.5));
}

TEST_F(SampleStoreTest, GivesDocumentsAsText) {
  Add(Make("u1", 8, Outcome::kValid));
  Add(Make("u2", 8, Outcome::kValid));
  std::vector<std::string> uids;
  const Status status = store_->ForEachDocument({}, [&](std::string_view text) {
    uids.push_back((*ParseJson(text, "doc"))["uid"].get<std::string>());
    return uids.size() < 5 ? Status::Ok() : Status::Aborted("enough");
  });
  EXPECT_TRUE(status.ok());
  EXPECT_THAT(uids, ElementsAre("u1", "u2"));
  EXPECT_EQ(store_->ForEachDocument({}, [](std::string_view) { return Status::Aborted("stop"); }).code(),
            ErrorCode::kAborted);
}

TEST_F(SampleStoreTest, KeepsNumbersThatJsonDoesNotKnow) {
  Measurement measurement = Make("u1", 8, Outcome::kValid);
  measurement.properties["speed"] = std::nan("");
  measurement.series["loss"] = {1, std::nan("")};
  Add(measurement);
  const auto found = store_->FindMeasured(KeyOf(measurement));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ((*found)->properties.at("speed"), space::Value());
  EXPECT_TRUE(std::isnan((*found)->series.at("loss")[1]));
}

TEST_F(SampleStoreTest, RemembersOperations) {
  ASSERT_TRUE(store_->StartOperation({"o1", "explore", "demo", "2026-01-01T00:00:00Z", "", ""}).ok());
  ASSERT_TRUE(store_->NoteResult("o1", "u1", false).ok());
  ASSERT_TRUE(store_->NoteResult("o1", "u1", true).ok());
  ASSERT_TRUE(store_->FinishOperation("o1", "success").ok());
  const auto operations = store_->ListOperations();
  ASSERT_TRUE(operations.ok());
  ASSERT_THAT(*operations, SizeIs(1));
  EXPECT_EQ((*operations)[0].exit_state, "success");
  EXPECT_FALSE((*operations)[0].finished_at.empty());
}

TEST_F(SampleStoreTest, CountsWhatOperationsMeasuredAndMet) {
  ASSERT_TRUE(store_->StartOperation({"o1", "explore", "demo", "2026-01-01T00:00:00Z", "", ""}).ok());
  ASSERT_TRUE(store_->StartOperation({"o2", "explore", "demo", "2026-01-01T00:00:00Z", "", ""}).ok());
  for (const bool replayed : {false, true, true}) {
    ASSERT_TRUE(store_->NoteResult("o1", "u1", replayed).ok());
  }
  const auto operations = store_->ListOperations();
  ASSERT_THAT(*operations, SizeIs(2));
  EXPECT_EQ((*operations)[0].measured, 1);
  EXPECT_EQ((*operations)[0].replayed, 2);
  EXPECT_EQ((*operations)[1].measured + (*operations)[1].replayed, 0);
}

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

TEST_F(SampleStoreTest, NotingAResultCostsTheSameHoweverManyThereAre) {
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

TEST_F(SampleStoreTest, RemovesMeasurementsWithAllThatBelongsToThem) {
  Measurement kept = Make("u1", 8, Outcome::kValid);
  kept.depends_on = {{"machine", "m"}};
  Measurement mistyped = Make("u2", 8, Outcome::kFailed);
  mistyped.depends_on = kept.depends_on;
  Add(kept);
  Add(mistyped);
  EXPECT_EQ(*store_->Remove({.outcome = Outcome::kFailed}), 1);
  EXPECT_EQ(*store_->Remove({.uid = "u9"}), 0);
  EXPECT_EQ(*store_->Count({}), 1);
  EXPECT_EQ((*store_->FindLatest(KeyOf(kept)))->uid, "u1");
  store_.reset();
  auto database = *Database::Open(path_, Database::Access::kReadOnly);
  for (const char* table : {"documents", "series", "cells", "dependencies"}) {
    EXPECT_EQ(*database.QueryInteger(fmt::format("SELECT count(DISTINCT measurement_id) FROM {}", table)), 1) << table;
  }
}

TEST_F(SampleStoreTest, ThreadsShareOneStore) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(store_->Append(Make(fmt::format("{}-{}", thread, i), i, Outcome::kValid)).ok());
      }
    });
  }
  threads.clear();
  EXPECT_EQ(*store_->Count({}), 40);
}

TEST_F(SampleStoreTest, ConnectionsSeeEachOthersWrites) {
  const auto other = Reopen();
  Add(Make("u1", 1, Outcome::kValid));
  ASSERT_TRUE(other->Append(Make("u2", 2, Outcome::kValid)).ok());
  EXPECT_EQ(*store_->Count({}), 2);
  EXPECT_EQ(*other->Count({}), 2);
}

TEST_F(SampleStoreTest, RefusesAFileThatIsNoStore) {
  const std::string text = directory_->path() + "/notes.txt";
  ASSERT_TRUE(WriteFileAtomically(text, std::string(5000, 'x')).ok());
  EXPECT_THAT(OpenError("sqlite:///" + text), HasSubstr("is not a store: it is no SQLite database"));
  EXPECT_EQ(*ReadFile(text), std::string(5000, 'x'));

  const std::string other = directory_->path() + "/other.db";
  {
    auto database = Database::Open(other, Database::Access::kReadWrite);
    ASSERT_TRUE(database->Execute("CREATE TABLE t(a)").ok());
  }
  EXPECT_THAT(OpenError("sqlite:///" + other), HasSubstr("SQLite database of another program"));
  EXPECT_THAT(OpenError("sqlite:///" + directory_->path()), HasSubstr("is a folder"));
}

TEST_F(SampleStoreTest, RefusesANewerStore) {
  store_.reset();
  {
    auto database = Database::Open(path_, Database::Access::kReadWrite);
    ASSERT_TRUE(database->Execute("UPDATE store_schema SET version = 7").ok());
  }
  const auto store = OpenStore("sqlite:///" + path_);
  EXPECT_EQ(store.status().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(store.status().message(), AllOf(HasSubstr("schema 7"), HasSubstr("up to 3")));
}

TEST_F(SampleStoreTest, RefusesATruncatedStore) {
  for (int i = 0; i < 50; ++i) {
    Add(Make(fmt::format("u{}", i), i, Outcome::kValid));
  }
  store_.reset();
  const std::string whole = *ReadFile(path_);
  ASSERT_TRUE(WriteFileAtomically(path_, whole.substr(0, whole.size() / 3)).ok());
  const auto store = OpenStore("sqlite:///" + path_);
  const std::string message = store.ok() ? (*store)->Count({}).status().message() : store.status().message();
  EXPECT_THAT(message, HasSubstr("is damaged"));
}

TEST_F(SampleStoreTest, ReadsAStoreWithoutMakingOne) {
  EXPECT_THAT(OpenError("sqlite:///" + directory_->path() + "/none.db", StoreAccess::kReadOnly),
              HasSubstr("there is no store at"));
  EXPECT_FALSE(FileExists(directory_->path() + "/none.db"));
  Add(Make("u1", 1, Outcome::kValid));
  const auto reader = OpenStore("sqlite:///" + path_, StoreAccess::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(*(*reader)->Count({}), 1);
  EXPECT_EQ((*reader)->Append(Make("u2", 2, Outcome::kValid)).code(), ErrorCode::kPermissionDenied);
}

TEST_F(SampleStoreTest, ReadsAnImmutableCopy) {
  Add(Make("u1", 1, Outcome::kValid));
  store_.reset();
  auto database = Database::Open(path_, Database::Access::kImmutable);
  ASSERT_TRUE(database.ok());
  EXPECT_EQ(*database->QueryInteger("SELECT count(*) FROM measurements"), 1);
}

TEST_F(SampleStoreTest, UnderstandsUrls) {
  EXPECT_THAT(OpenError("postgresql://host/db"), HasSubstr("not supported yet"));
  EXPECT_THAT(OpenError("mysql://host/db"), HasSubstr("sqlite:///PATH"));
  EXPECT_THAT(OpenError("sqlite://x.db"), HasSubstr("sqlite:///PATH"));
  EXPECT_TRUE(OpenStore(directory_->path() + "/plain path?#%.db").ok());
  EXPECT_TRUE(FileExists(directory_->path() + "/plain path?#%.db"));
  EXPECT_TRUE(OpenStore("sqlite:////" + directory_->path() + "/slashes.db").ok());
}

TEST_F(SampleStoreTest, AFullDiskIsOneLineAndLeavesTheStoreWhole) {
  Add(Make("u1", 1, Outcome::kValid));
  store_.reset();
  auto database = *Database::Open(path_, Database::Access::kReadWrite);
  const int64_t pages = *database.QueryInteger("PRAGMA page_count");
  ASSERT_TRUE(database.Execute(fmt::format("PRAGMA max_page_count = {}", pages)).ok());
  const Status status = database.Execute("CREATE TABLE filler AS SELECT zeroblob(1000000) AS bytes");
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_THAT(status.message(), HasSubstr("the disk is full"));
  EXPECT_EQ(*Reopen()->Count({}), 1);
}

TEST_F(SampleStoreTest, AnErrorOfTheDiskSaysWhatToDo) {
  EXPECT_EQ(SqliteStatus(SQLITE_IOERR_SHMSIZE, "disk I/O error", "/runs.db").message(),
            "cannot read or write store /runs.db: the system reports an error of the disk, as a full one can be (free "
            "some space, check the disk, or choose another place)");
}

TEST_F(SampleStoreTest, AnEmptyFileIsAStoreThatNothingWasStoredIn) {
  const std::string empty = directory_->path() + "/empty.db";
  ASSERT_TRUE(WriteFileAtomically(empty, "").ok());
  EXPECT_THAT(OpenError("sqlite:///" + empty, StoreAccess::kReadOnly),
              HasSubstr("/empty.db is empty: nothing was stored in it (measure something first"));
  EXPECT_TRUE(OpenStore("sqlite:///" + empty).ok());
}

TEST_F(SampleStoreTest, AFolderThatCannotBeWrittenIsOneLine) {
  EXPECT_THAT(OpenError("sqlite:////proc/self/runs.db"), HasSubstr("/proc/self"));
}

}  // namespace
}  // namespace assay::samplestore
