// Stores of older schemas, as older programs left them or use them still.
#include "samplestore/sqlite_migration.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "samplestore/sample_store.h"
#include "samplestore/sqlite_schema.h"

namespace assay::samplestore {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kLease = 30;
const MemoKey kMeasured = {"e-p.1", "batch_size.8"};
const MemoKey kClaimed = {"e", "b"};

/// What programs of both older schemas do when they add what they measured.
Status EndClaim(Database& database) {
  return database.Execute("DELETE FROM claims WHERE parameterized_id = 'e' AND entity_id = 'b'");
}

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
  measurement.outcome = Outcome::kValid;
  measurement.measured_at = "2026-01-01T00:00:00Z";
  return measurement;
}

class OldStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("store");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    path_ = directory_->path() + "/runs.db";
  }

  Database OpenAsOlder() const { return *Database::Open(path_, Database::Access::kReadWrite); }

  /// With one valid measurement.
  void MakeStoreOfSchema1() const {
    ASSERT_TRUE(OpenStore(path_).ok());
    nlohmann::json document = ToJson(Measured());
    document["schema"] = 1;
    document["provenance"] = {{"cpu", "A"}, {"cores", "2"}, {"memory", "4.00 GiB"}, {"commit", "c"}};
    document.erase("parameters");
    document.erase("depends_on");
    Database database = OpenAsOlder();
    ASSERT_TRUE(database
                    .Execute("DROP TABLE fenced_claims; DROP TABLE fences; DROP TABLE dependencies; CREATE TABLE "
                             "claims(parameterized_id TEXT, entity_id TEXT, owner TEXT, expires_at REAL); "
                             "UPDATE store_schema SET version = 1; PRAGMA journal_mode = DELETE; "
                             "INSERT INTO measurements VALUES (1, 'u1', 'e', 'e-p.1', 'batch_size.8', 'valid', '')")
                    .ok());
    auto insert = database.Prepare("INSERT INTO documents VALUES (1, ?)");
    ASSERT_TRUE(insert->Bind(DumpJson(document)).Run().ok());
  }

  /// With a claim of `owner`, which is returned.
  Claim MakeStoreOfSchema2(const std::string& owner) const {
    const Claim claim = *(*OpenStore(path_))->TryClaim(kClaimed, owner, kLease, 1);
    EXPECT_TRUE(
        OpenAsOlder().Execute("ALTER TABLE fenced_claims RENAME TO claims; UPDATE store_schema SET version = 2").ok());
    return claim;
  }

  std::string OpenError() const { return OpenStore(path_).status().message(); }
  int64_t Schema() const {
    Database database = OpenAsOlder();
    return *SchemaVersion(database);
  }

  Status EndClaimAsOlder() const {
    Database database = OpenAsOlder();
    return EndClaim(database);
  }

  static void ExpectFoundWhereItHolds(SampleStore& store) {
    EXPECT_TRUE(*store.IsMeasured(kMeasured, 1, {{"machine", "A, 2 cores, 4.00 GiB"}, {"commit", "c"}}));
    EXPECT_FALSE(*store.IsMeasured(kMeasured, 1, {{"commit", "d"}}));
    EXPECT_EQ((*store.FindMeasured(kMeasured))->uid, "u1");
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::string path_;
};

TEST_F(OldStoreTest, OfSchema1IsBroughtToThisOneByAWriter) {
  MakeStoreOfSchema1();
  const auto store = *OpenStore(path_);
  EXPECT_EQ(Schema(), kStoreSchema);
  ExpectFoundWhereItHolds(*store);
  EXPECT_EQ(store->TryClaim(kClaimed, "me", kLease, 1)->result, ClaimResult::kClaimed);
}

TEST_F(OldStoreTest, IsLeftAsItIsByAReader) {
  MakeStoreOfSchema1();
  ExpectFoundWhereItHolds(**OpenStore(path_, StoreAccess::kReadOnly));
  EXPECT_EQ(Schema(), 1);
  EXPECT_TRUE(EndClaimAsOlder().ok());
}

TEST_F(OldStoreTest, OfSchema2IsLeftAsItIsByAReader) {
  MakeStoreOfSchema2("me");
  const auto store = *OpenStore(path_, StoreAccess::kReadOnly);
  EXPECT_EQ(*store->Count({}), 0);
  EXPECT_FALSE(*store->IsMeasured(kMeasured, 1, {}));
  EXPECT_TRUE(store->ListOperations()->empty());
  EXPECT_EQ(Schema(), 2);
  EXPECT_TRUE(EndClaimAsOlder().ok());
}

TEST_F(OldStoreTest, OfSchema1IsReadWhereItCannotBeWritten) {
  MakeStoreOfSchema1();
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

TEST_F(OldStoreTest, IsNotChangedUnderAProgramThatMeasuresIntoIt) {
  const Claim claim = MakeStoreOfSchema2(MakeClaimOwner());
  EXPECT_THAT(OpenError(), AllOf(HasSubstr("has schema 2, and an older assay measures into it (process "),
                                 HasSubstr("wait for it or end it, or name another store")));
  EXPECT_EQ(Schema(), 2);
  ASSERT_TRUE(EndClaimAsOlder().ok());
  EXPECT_GT((*OpenStore(path_))->TryClaim(kClaimed, "me", kLease, 1)->fence, claim.fence);
  EXPECT_EQ(Schema(), kStoreSchema);
}

TEST_F(OldStoreTest, ClaimsOfSchema1CountByTheTimeOfDay) {
  MakeStoreOfSchema1();
  const auto claim_until = [this](double expires_at) {
    Database database = OpenAsOlder();
    ASSERT_TRUE(database.Execute("DELETE FROM claims").ok());
    auto insert = database.Prepare("INSERT INTO claims VALUES ('e', 'b', ?, ?)");
    ASSERT_TRUE(insert->Bind(MakeClaimOwner()).Bind(expires_at).Run().ok());
  };
  claim_until(TimeOfDay() + kLease);
  EXPECT_THAT(OpenError(), HasSubstr("has schema 1, and an older assay measures into it"));
  claim_until(TimeOfDay() - 1);
  EXPECT_TRUE(OpenStore(path_).ok());
}

// It was stopped for longer than its lease, or is between two points.
TEST_F(OldStoreTest, ProgramsOfSchema1AddNothingToThisOne) {
  MakeStoreOfSchema1();
  Database old = OpenAsOlder();
  const auto store = *OpenStore(path_);
  const auto add = [&]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(old));
    ASSAY_RETURN_IF_ERROR(old.Execute("INSERT INTO measurements VALUES (2, 'u2', 'e', 'e', 'b', 'valid', '')"));
    ASSAY_RETURN_IF_ERROR(EndClaim(old));
    return transaction.Commit();
  };
  EXPECT_FALSE(add().ok());
  EXPECT_EQ(*store->Count({}), 1);
}

}  // namespace
}  // namespace assay::samplestore
