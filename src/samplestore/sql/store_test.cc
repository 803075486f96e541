// What every store must do, whatever the database.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/text.h"
#include "samplestore/sample_store.h"
#include "samplestore/testing/store_target.h"

namespace assay::samplestore {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeMeasurement;
using ::testing::SizeIs;

class SampleStoreTest : public testing::StoreTest {
 protected:
  void Add(const Measurement& measurement) {
    const Status status = store_->Append(measurement);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::vector<std::string> Uids(const MeasurementFilter& filter) {
    std::vector<std::string> list;
    const auto rows = store_->ListRows(filter, {});
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    for (const MeasurementRow& row : *rows) {
      list.push_back(row.uid);
    }
    return list;
  }
};
ASSAY_FOR_EACH_STORE(SampleStoreTest);

TEST_P(SampleStoreTest, KeepsWholeMeasurements) {
  const Measurement measurement = MakeMeasurement("u1", 4, Outcome::kValid);
  Add(measurement);
  store_ = Open();
  const auto found = store_->FindMeasured(KeyOf(measurement));
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ(ToJson(**found), ToJson(measurement));
}

TEST_P(SampleStoreTest, InvalidCountsAsMeasuredAndFailedDoesNot) {
  const Measurement invalid = MakeMeasurement("u1", 1, Outcome::kInvalid);
  const Measurement failed = MakeMeasurement("u2", 2, Outcome::kFailed);
  Add(invalid);
  Add(failed);
  EXPECT_TRUE(store_->FindMeasured(KeyOf(invalid))->has_value());
  EXPECT_FALSE(store_->FindMeasured(KeyOf(failed))->has_value());
  EXPECT_TRUE(store_->FindLatest(KeyOf(failed))->has_value());
  EXPECT_FALSE(store_->FindLatest({"e-p.1", "nothing"})->has_value());
  EXPECT_FALSE(store_->FindMeasured({"e-p.2", invalid.entity_id})->has_value());
}

TEST_P(SampleStoreTest, TheNewestMeasurementOfAPointCounts) {
  Add(MakeMeasurement("u1", 4, Outcome::kValid, 100));
  Add(MakeMeasurement("u2", 4, Outcome::kValid, 200));
  Add(MakeMeasurement("u3", 4, Outcome::kFailed));
  const MemoKey key = KeyOf(MakeMeasurement("", 4, Outcome::kValid));
  EXPECT_EQ((*store_->FindMeasured(key))->uid, "u2");
  EXPECT_EQ((*store_->FindLatest(key))->uid, "u3");
}

TEST_P(SampleStoreTest, AUidStandsOnlyOnce) {
  Add(MakeMeasurement("u1", 4, Outcome::kValid));
  EXPECT_THAT(store_->Append(MakeMeasurement("u1", 5, Outcome::kValid)).message(), HasSubstr("uid u1 already"));
  EXPECT_EQ(*store_->Count({}), 1);
}

TEST_P(SampleStoreTest, Filters) {
  for (int64_t batch_size = 1; batch_size <= 6; ++batch_size) {
    Add(MakeMeasurement(fmt::format("u{}", batch_size), batch_size,
                        batch_size == 3 ? Outcome::kInvalid : Outcome::kValid));
  }
  EXPECT_EQ(*store_->Count({}), 6);
  EXPECT_EQ(*store_->Count({.experiment = "e"}), 6);
  EXPECT_EQ(*store_->Count({.experiment = "other"}), 0);
  EXPECT_EQ(*store_->Count({.outcome = Outcome::kInvalid}), 1);
  EXPECT_EQ(*store_->Count({.entity_id = MakeMeasurement("", 2, Outcome::kValid).entity_id}), 1);
  EXPECT_EQ(*store_->Count({.entity = {{"batch_size", int64_t{2}}}}), 1);
  EXPECT_EQ(*store_->Count({.entity = {{"flash", true}}}), 2);
  EXPECT_EQ(*store_->Count({.entity = {{"flash", false}, {"batch_size", int64_t{5}}}}), 0);
  EXPECT_EQ(*store_->Count({.entity = {{"gpu_model", space::Value()}}}), 6);
  EXPECT_EQ(*store_->Count({.entity = {{"nonsense", int64_t{1}}}}), 0);
  EXPECT_EQ(*store_->Count({.measured_since = "2026-01-05T00:00:00Z"}), 3);
  EXPECT_EQ(*store_->Count({.limit = 2, .offset = 5}), 1);
}

TEST_P(SampleStoreTest, PagesInBothDirections) {
  for (int64_t batch_size = 1; batch_size <= 5; ++batch_size) {
    Add(MakeMeasurement(fmt::format("u{}", batch_size), batch_size, Outcome::kValid));
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

TEST_P(SampleStoreTest, AReaderGoesOnWhereItWas) {
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  const int64_t seen = (*store_->ListRows({}, {}))[0].arrival;
  EXPECT_GT(seen, 0);
  EXPECT_EQ(*store_->Count({.after = seen}), 0);
  Add(MakeMeasurement("u2", 2, Outcome::kValid));
  const auto rows = *store_->ListRows({.after = seen}, {});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].uid, "u2");
  const auto whole = *store_->List({.after = seen}, false);
  ASSERT_THAT(whole, SizeIs(1));
  EXPECT_EQ(whole[0].arrival, rows[0].arrival);
  EXPECT_EQ((*store_->FindLatest(KeyOf(whole[0])))->arrival, rows[0].arrival);
}

TEST_P(SampleStoreTest, RowsHoldTheColumnsAskedFor) {
  Add(MakeMeasurement("u1", 8, Outcome::kValid, 123.5));
  const auto rows = store_->ListRows({}, {"speed", "batch_size", "flash", "gpu_model", "unheard_of", "is_valid"});
  ASSERT_TRUE(rows.ok());
  ASSERT_THAT(*rows, SizeIs(1));
  EXPECT_EQ((*rows)[0].parameterized_id, "e-p.1");
  EXPECT_EQ((*rows)[0].outcome, Outcome::kValid);
  EXPECT_THAT((*rows)[0].values, ElementsAre(space::Value(123.5), space::Value(int64_t{8}), space::Value(true),
                                             space::Value(), space::Value(), space::Value(int64_t{1})));
}

TEST_P(SampleStoreTest, ListsWithAndWithoutSeries) {
  Add(MakeMeasurement("u1", 8, Outcome::kValid));
  EXPECT_TRUE((*store_->List({}, false))[0].series.empty());
  EXPECT_THAT((*store_->List({}, true))[0].series.at("loss"), ElementsAre(3, 2, 1.5));
}

TEST_P(SampleStoreTest, GoesThroughMeasurementsOneByOne) {
  Add(MakeMeasurement("u1", 8, Outcome::kValid));
  Add(MakeMeasurement("u2", 8, Outcome::kValid));
  std::vector<std::string> uids;
  // Whoever visits may use the store.
  const Status status = store_->ForEach({}, false, [&](const Measurement& measurement) {
    uids.push_back(measurement.uid);
    return store_->Count({}).status();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_THAT(uids, ElementsAre("u1", "u2"));
  EXPECT_EQ(store_->ForEach({}, false, [](const Measurement&) { return Status::Aborted("stop"); }).code(),
            ErrorCode::kAborted);
}

TEST_P(SampleStoreTest, KeepsNumbersThatJsonDoesNotKnow) {
  Measurement measurement = MakeMeasurement("u1", 8, Outcome::kValid);
  measurement.properties["speed"] = std::nan("");
  measurement.series["loss"] = {1, std::nan("")};
  Add(measurement);
  const auto found = store_->FindMeasured(KeyOf(measurement));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ((*found)->properties.at("speed"), space::Value());
  EXPECT_TRUE(std::isnan((*found)->series.at("loss")[1]));
}

TEST_P(SampleStoreTest, RemembersOperations) {
  Operation started{"o1", "explore", "demo", "2026-01-01T00:00:00Z", "", ""};
  started.owner = "me";
  started.details = "{}";
  ASSERT_TRUE(store_->StartOperation(started).ok());
  ASSERT_TRUE(store_->NoteResult("o1", "u1", false).ok());
  ASSERT_TRUE(store_->NoteResult("o1", "u1", true).ok());
  ASSERT_TRUE(store_->FinishOperation("o1", "success").ok());
  const auto operations = store_->ListOperations();
  ASSERT_TRUE(operations.ok());
  ASSERT_THAT(*operations, SizeIs(1));
  EXPECT_EQ((*operations)[0].exit_state, "success");
  EXPECT_FALSE((*operations)[0].finished_at.empty());
  EXPECT_EQ((*operations)[0].owner, "me");
  EXPECT_EQ((*operations)[0].details, "{}");
  ASSERT_TRUE(store_->SetDetails("o1", R"({"a":1})").ok());
  EXPECT_EQ((*store_->ListOperations())[0].details, R"({"a":1})");
}

TEST_P(SampleStoreTest, CountsWhatOperationsMeasuredAndMet) {
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

TEST_P(SampleStoreTest, RemovesMeasurementsWithAllThatBelongsToThem) {
  Measurement kept = MakeMeasurement("u1", 8, Outcome::kValid);
  kept.depends_on = {{"machine", "m"}};
  Measurement mistyped = MakeMeasurement("u2", 8, Outcome::kFailed);
  mistyped.depends_on = kept.depends_on;
  mistyped.provenance = {{"host", "h"}, {"stderr", "last words"}};
  Add(kept);
  Add(mistyped);
  EXPECT_EQ(*store_->Remove({.outcome = Outcome::kFailed}), 1);
  EXPECT_EQ(*store_->Remove({.uid = "u9"}), 0);
  EXPECT_EQ(*store_->Count({}), 1);
  EXPECT_EQ((*store_->FindLatest(KeyOf(kept)))->uid, "u1");
  store_.reset();
  for (const char* table : {"contents", "postings", "measurements"}) {
    EXPECT_EQ(*target_->QueryInteger(fmt::format("SELECT count(DISTINCT arrival) FROM {}", table)), 1) << table;
  }
}

TEST_P(SampleStoreTest, AnArrivalIsNotGivenAgain) {
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  const int64_t removed = (*store_->ListRows({}, {}))[0].arrival;
  ASSERT_EQ(*store_->Remove({}), 1);
  Add(MakeMeasurement("u2", 1, Outcome::kValid));
  EXPECT_THAT(Uids({.after = removed}), ElementsAre("u2"));
}

TEST_P(SampleStoreTest, AppendsManyAndLeavesOutThoseItHas) {
  std::vector<Measurement> measurements;
  for (int i = 0; i < 150; ++i) {
    measurements.push_back(MakeMeasurement(fmt::format("u{}", i), i % 20, Outcome::kValid, i));
    measurements.back().provenance = {{"host", fmt::format("h{}", i % 3)}};
  }
  Add(measurements[7]);
  measurements.push_back(measurements[3]);
  EXPECT_EQ(*store_->AppendNew(measurements), 149);
  EXPECT_EQ(*store_->AppendNew(measurements), 0);
  EXPECT_EQ(*store_->Count({}), 150);
  EXPECT_EQ(*store_->Count({.found_by = {{"host", "h1"}}}), 50);
  const auto found = *store_->List({.uid = "u149"}, true);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(ToJson(found[0]), ToJson(measurements[149]));
  EXPECT_EQ(*store_->AppendNew({}), 0);
}

TEST_P(SampleStoreTest, FindsByWhoMeasured) {
  Measurement ours = MakeMeasurement("u1", 1, Outcome::kValid);
  ours.provenance = {{"host", "a"}, {"commit", "c1"}, {"machine", "m"}, {"os", "Linux"}};
  Measurement theirs = MakeMeasurement("u2", 1, Outcome::kValid);
  theirs.provenance = {{"host", "b"}, {"commit", "c1"}, {"machine", "m"}};
  Add(ours);
  Add(theirs);
  EXPECT_THAT(Uids({.found_by = {{"commit", "c1"}}}), ElementsAre("u1", "u2"));
  EXPECT_THAT(Uids({.found_by = {{"commit", "c1"}, {"host", "b"}}}), ElementsAre("u2"));
  EXPECT_THAT(Uids({.found_by = {{"commit", "c2"}}}), IsEmpty());
  EXPECT_THAT(Uids({.entity_id = ours.entity_id, .found_by = {{"host", "a"}}}), ElementsAre("u1"));
}

TEST_P(SampleStoreTest, FindsWhatAnOperationMeasuredOrMet) {
  for (const char* uid : {"u1", "u2", "u3"}) {
    Add(MakeMeasurement(uid, 1, Outcome::kValid));
  }
  ASSERT_TRUE(store_->StartOperation({"o1", "explore", "demo", "2026-01-01T00:00:00Z", "", ""}).ok());
  ASSERT_TRUE(store_->NoteResult("o1", "u3", false).ok());
  ASSERT_TRUE(store_->NoteResult("o1", "u1", true).ok());
  EXPECT_THAT(Uids({.operation = "o1"}), ElementsAre("u1", "u3"));
  EXPECT_THAT(Uids({.operation = "o2"}), IsEmpty());
  const auto results = *store_->ListResults("o1", -1, 10);
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_EQ(results[0].measurement_uid, "u3");
  EXPECT_FALSE(results[0].replayed);
  EXPECT_EQ(results[1].number, 1);
  EXPECT_TRUE(results[1].replayed);
  EXPECT_THAT(*store_->ListResults("o1", 0, 10), SizeIs(1));
  EXPECT_THAT(*store_->ListResults("o1", -1, 1), SizeIs(1));
}

TEST_P(SampleStoreTest, PagesAreNeitherCutNorRepeated) {
  std::vector<Measurement> measurements;
  for (int i = 0; i < 1100; ++i) {
    measurements.push_back(MakeMeasurement(fmt::format("u{:04}", i), i % 2, Outcome::kValid));
  }
  ASSERT_EQ(*store_->AppendNew(measurements), 1100);
  for (const bool newest_first : {false, true}) {
    const auto odd = *store_->List({.entity = measurements[1].entity, .newest_first = newest_first}, false);
    ASSERT_THAT(odd, SizeIs(550));
    for (int i = 0; i < 550; ++i) {
      EXPECT_EQ(odd[i].uid, fmt::format("u{:04}", newest_first ? 1099 - 2 * i : 2 * i + 1));
    }
  }
  const auto part = *store_->List({.limit = 600, .offset = 300}, false);
  ASSERT_THAT(part, SizeIs(600));
  EXPECT_EQ(part.front().uid, "u0300");
  EXPECT_EQ(part.back().uid, "u0899");
  EXPECT_THAT(Uids({.before = part.front().arrival, .newest_first = true, .limit = 1}), ElementsAre("u0299"));
}

TEST_P(SampleStoreTest, TextsThatNoDatabaseTakesAreKeptAsTheyCanBe) {
  Measurement killed = MakeMeasurement("u1", 1, Outcome::kFailed);
  killed.reason = std::string("cut \xc3", 5);
  killed.provenance = {{"stderr", std::string("a\0b \xff", 5)}};
  Add(killed);
  const auto found = *store_->List({}, false);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].provenance.at("stderr").substr(0, 3), "a b");
  EXPECT_EQ(found[0].reason.substr(0, 4), "cut ");
}

TEST_P(SampleStoreTest, ThreadsShareOneStore) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(store_->Append(MakeMeasurement(fmt::format("{}-{}", thread, i), i, Outcome::kValid)).ok());
      }
    });
  }
  threads.clear();
  EXPECT_EQ(*store_->Count({}), 40);
}

TEST_P(SampleStoreTest, ConnectionsSeeEachOthersWrites) {
  const auto other = Open();
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  ASSERT_TRUE(other->Append(MakeMeasurement("u2", 2, Outcome::kValid)).ok());
  EXPECT_EQ(*store_->Count({}), 2);
  EXPECT_EQ(*other->Count({}), 2);
}

TEST_P(SampleStoreTest, RefusesANewerStore) {
  store_.reset();
  ASSERT_TRUE(target_->Execute("UPDATE store_schema SET version = 7").ok());
  for (const StoreAccess access : {StoreAccess::kReadWrite, StoreAccess::kReadOnly}) {
    const auto store = target_->Open(access);
    EXPECT_EQ(store.status().code(), ErrorCode::kFailedPrecondition);
    EXPECT_THAT(store.status().message(), AllOf(HasSubstr("schema 7"), HasSubstr("up to 4")));
  }
}

TEST_P(SampleStoreTest, AnotherStoreInItsPlaceIsNoticed) {
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  const auto reader = target_->Open(StoreAccess::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_TRUE((*reader)->CheckSame().ok());
  ASSERT_TRUE(target_->Execute("UPDATE store_identity SET id = 'another'").ok());
  EXPECT_THAT((*reader)->CheckSame().message(), HasSubstr("was replaced by another one"));
  EXPECT_THAT(store_->Append(MakeMeasurement("u2", 2, Outcome::kValid)).message(),
              HasSubstr("was replaced by another one"));
  EXPECT_EQ(*Open()->Count({}), 1);
}

TEST_P(SampleStoreTest, WhoReadsAStoreBeforeItsFirstMeasurementGoesOnReading) {
  const auto reader = target_->Open(StoreAccess::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  const Status same = (*reader)->CheckSame();
  EXPECT_TRUE(same.ok()) << same.message();
  EXPECT_EQ(*(*reader)->Count({}), 1);
}

TEST_P(SampleStoreTest, AStoreThatGetsItsNameIsAnotherOneForWhoReadsAndReadAnewByWhoWrites) {
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  ASSERT_TRUE(target_->Execute("DROP TABLE store_identity").ok());
  const auto reader = target_->Open(StoreAccess::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto writer = Open();
  EXPECT_EQ((*writer->List({}, false)).size(), 1);
  EXPECT_TRUE((*reader)->CheckSame().ok());
  ASSERT_TRUE(Open()->Append(MakeMeasurement("u2", 2, Outcome::kValid)).ok()) << "who gives it the name";
  EXPECT_THAT((*reader)->CheckSame().message(), HasSubstr("was replaced by another one"));
  const Status written = writer->Append(MakeMeasurement("u3", 3, Outcome::kValid));
  EXPECT_TRUE(written.ok()) << written.message();
  EXPECT_TRUE(writer->CheckSame().ok());
  EXPECT_EQ(*Open()->Count({}), 3);
}

TEST_P(SampleStoreTest, AReaderWritesNothing) {
  Add(MakeMeasurement("u1", 1, Outcome::kValid));
  const auto reader = target_->Open(StoreAccess::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(*(*reader)->Count({}), 1);
  EXPECT_EQ((*reader)->Append(MakeMeasurement("u2", 2, Outcome::kValid)).code(), ErrorCode::kPermissionDenied);
  EXPECT_EQ(*store_->Count({}), 1);
}

}  // namespace
}  // namespace assay::samplestore
