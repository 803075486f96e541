// Stores of older schemas, as older programs left them or use them still.
#include "samplestore/sqlite/migration.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "samplestore/sample_store.h"
#include "samplestore/sql/schema.h"
#include "samplestore/sqlite/connection.h"
#include "samplestore/testing/store_target.h"

namespace assay::samplestore {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kLease = 30;
const MemoKey kMeasured = {"e-r.1", "batch_size.8"};
const MemoKey kClaimed = {"e", "b"};

double TimeOfDay() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Measurement Measured() {
  Measurement measurement;
  measurement.uid = "u1";
  measurement.experiment = "e";
  measurement.parameterized_id = kMeasured.parameterized_id;
  measurement.entity = {{"batch_size", int64_t{8}}};
  measurement.entity_id = kMeasured.entity_id;
  measurement.parameters = {{"r", int64_t{1}}};
  measurement.outcome = Outcome::kValid;
  measurement.provenance = {{"cpu", "A"}, {"cores", "2"}, {"memory", "4.00 GiB"}, {"commit", "c"}};
  measurement.depends_on = {{"machine", "A, 2 cores, 4.00 GiB"}, {"commit", "c"}};
  measurement.measured_at = "2026-01-01T00:00:00Z";
  return measurement;
}

/// The tables that all older schemas had.
constexpr char kOldTables[] = R"sql(
CREATE TABLE store_schema(version INTEGER NOT NULL);

CREATE TABLE measurements(
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  experiment TEXT NOT NULL,
  parameterized_id TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('valid', 'invalid', 'failed')),
  measured_at TEXT NOT NULL);
CREATE INDEX measurements_by_key ON measurements(parameterized_id, entity_id, outcome);
CREATE INDEX measurements_by_experiment ON measurements(experiment);
CREATE INDEX measurements_by_entity ON measurements(entity_id);
CREATE INDEX measurements_by_time ON measurements(measured_at);

CREATE TABLE documents(measurement_id INTEGER PRIMARY KEY REFERENCES measurements(id), json TEXT NOT NULL);

CREATE TABLE columns(
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('constitutive', 'target')),
  name TEXT NOT NULL,
  UNIQUE (name, kind));
CREATE TABLE cells(
  column_id INTEGER NOT NULL REFERENCES columns(id),
  measurement_id INTEGER NOT NULL REFERENCES measurements(id),
  value,
  PRIMARY KEY (column_id, measurement_id)) WITHOUT ROWID;

CREATE TABLE series(
  measurement_id INTEGER NOT NULL REFERENCES measurements(id),
  name TEXT NOT NULL,
  float64_le BLOB NOT NULL,
  PRIMARY KEY (measurement_id, name));

CREATE TABLE operations(
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  space TEXT NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL,
  exit_state TEXT NOT NULL);
CREATE TABLE operation_results(
  operation_uid TEXT NOT NULL,
  request_index INTEGER NOT NULL,
  measurement_uid TEXT NOT NULL,
  replayed INTEGER NOT NULL,
  PRIMARY KEY (operation_uid, request_index)) WITHOUT ROWID;
)sql";

constexpr char kClaimsOfSchema1[] = R"sql(
CREATE TABLE claims(
  parameterized_id TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  expires_at REAL NOT NULL,
  PRIMARY KEY (parameterized_id, entity_id)) WITHOUT ROWID;
)sql";

/// Of schema 3; schema 2 called the first one `claims`.
constexpr char kFencedClaims[] = R"sql(
CREATE TABLE fenced_claims(
  parameterized_id TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  fence INTEGER NOT NULL,
  epoch TEXT NOT NULL,
  expires_at REAL NOT NULL,
  PRIMARY KEY (parameterized_id, entity_id)) WITHOUT ROWID;
CREATE TABLE fences(last INTEGER NOT NULL);
INSERT INTO fences VALUES (0);
CREATE TABLE dependencies(
  measurement_id INTEGER NOT NULL REFERENCES measurements(id),
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (measurement_id, name)) WITHOUT ROWID;
)sql";

class OldStoreTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("store");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    path_ = directory_->path() + "/runs.db";
    MakeStore(GetParam());
  }

  /// As its programs left it: with one valid measurement and its series, and an operation that measured and met it.
  void MakeStore(int64_t version) const {
    nlohmann::json document = ToJson(Measured());
    document["schema"] = version == 1 ? 1 : 2;
    if (version == 1) {
      document.erase("parameters");
      document.erase("depends_on");
    }
    const auto database = OpenAsOlder();
    ASSERT_TRUE(database->Execute(kOldTables).ok());
    ASSERT_TRUE(database->Execute(version == 1 ? kClaimsOfSchema1 : kFencedClaims).ok());
    if (version == 2) {
      ASSERT_TRUE(database->Execute("ALTER TABLE fenced_claims RENAME TO claims").ok());
    }
    if (version > 1) {
      ASSERT_TRUE(database
                      ->Execute("UPDATE fences SET last = 41; INSERT INTO dependencies VALUES (3, 'machine', 'A, 2 "
                                "cores, 4.00 GiB'), (3, 'commit', 'c')")
                      .ok());
    }
    ASSERT_TRUE(database
                    ->Execute(fmt::format(
                        "INSERT INTO store_schema VALUES ({}); INSERT INTO measurements VALUES (3, 'u1', 'e', 'e-r.1', "
                        "'batch_size.8', 'valid', '2026-01-01T00:00:00Z'); INSERT INTO columns VALUES (1, "
                        "'constitutive', 'batch_size'); INSERT INTO cells VALUES (1, 3, 8); INSERT INTO operations "
                        "VALUES (1, 'o1', 'explore', 'demo', 'then', 'later', 'success'); INSERT INTO "
                        "operation_results VALUES ('o1', 0, 'u1', 0), ('o1', 1, 'u1', 1)",
                        version))
                    .ok());
    const auto insert = *database->Prepare("INSERT INTO documents VALUES (3, ?)");
    ASSERT_TRUE(insert->Bind(std::string_view(DumpJson(document))).Run().ok());
    const std::vector<double> losses = {3, 2.5};
    const auto series = *database->Prepare("INSERT INTO series VALUES (3, 'loss', ?)");
    ASSERT_TRUE(series->BindBytes({reinterpret_cast<const char*>(losses.data()), 16}).Run().ok());
  }

  std::unique_ptr<SqliteConnection> OpenAsOlder() const {
    return *SqliteConnection::Open(path_, SqliteConnection::Access::kReadWrite);
  }

  bool LeasesAreToldInTheTimeOfDay() const { return GetParam() == 1; }

  /// By a program of the older schema.
  Status Claim(std::string_view owner, double seconds_left) const {
    const auto database = OpenAsOlder();
    const char* sql = GetParam() == 1   ? "INSERT OR REPLACE INTO claims VALUES ('e', 'b', ?, ?)"
                      : GetParam() == 2 ? "INSERT OR REPLACE INTO claims VALUES ('e', 'b', ?, 42, ?, ?)"
                                        : "INSERT OR REPLACE INTO fenced_claims VALUES ('e', 'b', ?, 42, ?, ?)";
    ASSAY_ASSIGN_OR_RETURN(const StatementPtr insert, database->Prepare(sql));
    insert->Bind(owner);
    const LeaseClock clock = MachineLeaseClock();
    if (!LeasesAreToldInTheTimeOfDay()) {
      insert->Bind(std::string_view(clock.epoch));
    }
    return insert->Bind((LeasesAreToldInTheTimeOfDay() ? TimeOfDay() : clock.seconds()) + seconds_left).Run();
  }

  std::string OpenError() const { return OpenStore(path_).status().message(); }
  int64_t Schema() const { return *SchemaVersion(*OpenAsOlder()); }

  static void ExpectFoundWhereItHolds(SampleStore& store) {
    EXPECT_TRUE(*store.IsMeasured(kMeasured, 1, {{"machine", "A, 2 cores, 4.00 GiB"}, {"commit", "c"}}));
    EXPECT_FALSE(*store.IsMeasured(kMeasured, 1, {{"commit", "d"}}));
    const auto found = *store.FindMeasured(kMeasured);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->uid, "u1");
    EXPECT_EQ(found->arrival, 3);
    EXPECT_EQ(found->parameters.at("r"), space::Value(int64_t{1}));
    EXPECT_THAT(found->series.at("loss"), ::testing::ElementsAre(3, 2.5));
    EXPECT_EQ(*store.Count({.entity = {{"batch_size", int64_t{8}}}}), 1);
    const auto operations = *store.ListOperations();
    ASSERT_EQ(operations.size(), 1U);
    EXPECT_EQ(operations[0].measured, 1);
    EXPECT_EQ(operations[0].replayed, 1);
    EXPECT_EQ(store.ListResults("o1", -1, 10)->size(), 2U);
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::string path_;
};
INSTANTIATE_TEST_SUITE_P(Schemas, OldStoreTest, ::testing::Values(1, 2, 3), ::testing::PrintToStringParamName());

TEST_P(OldStoreTest, IsBroughtToThisOneByAWriter) {
  const auto store = testing::Must(OpenStore(path_));
  EXPECT_EQ(Schema(), kStoreSchema);
  ExpectFoundWhereItHolds(*store);
  // Whoever was stopped and holds an older claim is not taken for the new one's owner.
  EXPECT_GT(store->TryClaim(kClaimed, "me", kLease, 1)->fence, GetParam() == 1 ? 0 : 41);
  Measurement next = Measured();
  next.uid = "u2";
  ASSERT_TRUE(store->Append(next).ok());
  EXPECT_GT((*store->FindLatest(kMeasured))->arrival, 3);
}

TEST_P(OldStoreTest, IsLeftAsItIsByAReader) {
  ASSERT_TRUE(Claim(MakeClaimOwner(), kLease).ok());
  const auto store = testing::Must(OpenStore(path_, StoreAccess::kReadOnly));
  ExpectFoundWhereItHolds(*store);
  EXPECT_EQ(store->Append(Measured()).code(), ErrorCode::kPermissionDenied);
  EXPECT_EQ(Schema(), GetParam());
}

TEST_P(OldStoreTest, IsReadWhereItCannotBeWritten) {
  constexpr uid_t kNobody = 65534;  // root may write everywhere
  const bool is_root = ::geteuid() == 0;
  std::filesystem::permissions(path_, std::filesystem::perms(0444));
  std::filesystem::permissions(directory_->path(), std::filesystem::perms(0555));
  ASSERT_TRUE(!is_root || ::seteuid(kNobody) == 0);
  {
    const auto store = OpenStore(path_, StoreAccess::kReadOnly);
    EXPECT_TRUE(store.ok()) << store.status().message();
    if (store.ok()) {
      ExpectFoundWhereItHolds(**store);
    }
  }
  EXPECT_TRUE(!is_root || ::seteuid(0) == 0);
  std::filesystem::permissions(directory_->path(), std::filesystem::perms(0755));
}

TEST_P(OldStoreTest, IsNotChangedUnderAProgramThatMeasuresIntoIt) {
  ASSERT_TRUE(Claim(MakeClaimOwner(), kLease).ok());
  EXPECT_THAT(OpenError(),
              AllOf(HasSubstr(fmt::format("has schema {}, and an older assay measures into it (process ", GetParam())),
                    HasSubstr("wait for it or end it, or name another store")));
  EXPECT_EQ(Schema(), GetParam());
  ASSERT_TRUE(Claim(MakeClaimOwner(), -1).ok());
  EXPECT_TRUE(OpenStore(path_).ok());
  EXPECT_EQ(Schema(), kStoreSchema);
}

// It was stopped for longer than its lease, or is between two points.
TEST_P(OldStoreTest, ItsProgramsAddNothingToThisOne) {
  const auto old = OpenAsOlder();
  const auto store = testing::Must(OpenStore(path_));
  EXPECT_FALSE(old->Execute("INSERT INTO measurements(uid, experiment, parameterized_id, entity_id, outcome, "
                            "measured_at) VALUES ('u2', 'e', 'e', 'b', 'valid', '')")
                   .ok());
  EXPECT_EQ(*store->Count({}), 1);
}

TEST_P(OldStoreTest, OfADocumentThatCannotBeReadStaysAsItIs) {
  ASSERT_TRUE(OpenAsOlder()->Execute("UPDATE documents SET json = '{'").ok());
  EXPECT_THAT(OpenError(), HasSubstr(path_));
  EXPECT_EQ(Schema(), GetParam());
  EXPECT_EQ(*OpenAsOlder()->QueryInteger("SELECT count(*) FROM documents"), 1);
}

}  // namespace
}  // namespace assay::samplestore
