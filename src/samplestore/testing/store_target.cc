#include "samplestore/testing/store_target.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "samplestore/postgres/connection.h"
#include "samplestore/sqlite/connection.h"
#include "samplestore/testing/postgres_server.h"

namespace assay::samplestore::testing {

std::string NameOf(const ::testing::TestParamInfo<StoreKind>& kind) {
  return kind.param == StoreKind::kSqlite ? "sqlite" : "postgres";
}

Result<std::unique_ptr<StoreTarget>> StoreTarget::Make(StoreKind kind) {
  ASSAY_ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::Create("store"));
  std::unique_ptr<StoreTarget> target(new StoreTarget(kind, std::move(folder)));
  if (kind == StoreKind::kSqlite) {
    target->url_ = "sqlite:///" + target->folder_.path() + "/sub/runs.db";
    return target;
  }
  // Where what a server cannot keep is logged.
  ::setenv("XDG_DATA_HOME", target->folder_.path().c_str(), /*overwrite=*/1);
  target->url_ = SharedPostgres().Url("t" + RandomUid());
  return target;
}

Result<std::unique_ptr<SampleStore>> StoreTarget::Open(StoreAccess access, const StoreOptions& options) const {
  return OpenStore(url_, access, options);
}

Result<std::unique_ptr<Connection>> StoreTarget::Connect() const {
  if (kind_ == StoreKind::kSqlite) {
    ASSAY_ASSIGN_OR_RETURN(
        auto connection, SqliteConnection::Open(folder_.path() + "/sub/runs.db", SqliteConnection::Access::kReadWrite));
    return std::unique_ptr<Connection>(std::move(connection));
  }
  ASSAY_ASSIGN_OR_RETURN(PostgresAddress address, ParsePostgresUrl(url_));
  ASSAY_ASSIGN_OR_RETURN(auto connection, PostgresConnection::Open(std::move(address), StoreAccess::kReadWrite, {}));
  return std::unique_ptr<Connection>(std::move(connection));
}

Status StoreTarget::Execute(const std::string& sql) const {
  ASSAY_ASSIGN_OR_RETURN(const auto connection, Connect());
  return connection->Execute(sql);
}

Result<int64_t> StoreTarget::QueryInteger(const std::string& sql) const {
  ASSAY_ASSIGN_OR_RETURN(const auto connection, Connect());
  return connection->QueryInteger(sql);
}

void StoreTest::SetUp() {
  auto target = StoreTarget::Make(GetParam());
  ASSERT_TRUE(target.ok()) << target.status().message();
  target_ = *std::move(target);
  store_ = Open();
}

std::unique_ptr<SampleStore> StoreTest::Open(const StoreOptions& options) const {
  auto store = target_->Open(StoreAccess::kReadWrite, options);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? *std::move(store) : nullptr;
}

Measurement MakeMeasurement(const std::string& uid, int64_t batch_size, Outcome outcome, double speed) {
  Measurement measurement;
  measurement.uid = uid;
  measurement.experiment = "e";
  measurement.parameterized_id = "e-p.1";
  measurement.entity = {{"batch_size", batch_size}, {"flash", batch_size > 4}, {"gpu_model", space::Value()}};
  measurement.entity_id = space::EntityId(measurement.entity);
  measurement.parameters = {{"p", int64_t{1}}};
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

}  // namespace assay::samplestore::testing
