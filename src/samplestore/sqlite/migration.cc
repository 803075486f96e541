#include "samplestore/sqlite/migration.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "samplestore/claim_owner.h"
#include "samplestore/measurement.h"
#include "samplestore/sql/dictionary.h"
#include "samplestore/sql/schema.h"
#include "samplestore/sql/writer.h"

namespace assay::samplestore {
namespace {

constexpr size_t kWrittenAtOnce = 64;

/// Leases of schema 1 were told in the time of day.
StoreTime TimeOfDay() {
  return {.epoch = "",
          .seconds = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count()};
}

const char* ClaimsOf(int64_t version) {
  return version == 1   ? "SELECT owner, '', expires_at FROM claims"
         : version == 2 ? "SELECT owner, epoch, expires_at FROM claims"
                        : "SELECT owner, epoch, expires_at FROM fenced_claims";
}

Status CheckNobodyMeasures(SqliteConnection& connection, int64_t version) {
  ASSAY_ASSIGN_OR_RETURN(const StoreTime machine, connection.Now());
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr claims, connection.Prepare(ClaimsOf(version)));
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, claims->Step());
    if (!more) {
      return Status::Ok();
    }
    if (ClaimCounts(claims->Text(0), claims->Text(1), claims->Number(2), version == 1 ? TimeOfDay() : machine)) {
      return Status::FailedPrecondition(fmt::format(
          "store {} has schema {}, and an older assay measures into it ({}), which could not add what it finds to one "
          "of schema {}: wait for it or end it, or name another store",
          connection.name(), version, DescribeOwner(claims->Text(0)), kStoreSchema));
    }
  }
}

/// What older schemas held in other forms: a measurement's document says all of it but its series.
constexpr char kSetAside[] = R"sql(
ALTER TABLE measurements RENAME TO old_measurements;
DROP INDEX measurements_by_key;
DROP INDEX measurements_by_experiment;
DROP INDEX measurements_by_entity;
DROP INDEX measurements_by_time;
ALTER TABLE operations RENAME TO old_operations;
ALTER TABLE operation_results RENAME TO old_operation_results;
DROP TABLE IF EXISTS dependencies;
DROP TABLE cells;
DROP TABLE columns;
DROP TABLE store_schema;
DROP TABLE IF EXISTS fences;
DROP TABLE IF EXISTS claims;
DROP TABLE IF EXISTS fenced_claims;
)sql";

constexpr char kTakeOperations[] = R"sql(
INSERT INTO operations(id, uid, kind, space, owner, details, started_at, finished_at, exit_state, measured, replayed)
  SELECT id, uid, kind, space, '', '', started_at, finished_at, exit_state,
    (SELECT count(*) FROM old_operation_results AS r WHERE r.operation_uid = uid AND NOT r.replayed),
    (SELECT count(*) FROM old_operation_results AS r WHERE r.operation_uid = uid AND r.replayed)
  FROM old_operations;
INSERT INTO operation_results SELECT operation_uid, request_index, measurement_uid, replayed FROM old_operation_results;
DROP TABLE old_operation_results;
DROP TABLE old_operations;
DROP TABLE documents;
DROP TABLE series;
DROP TABLE old_measurements;
)sql";

Status ReadSeries(SqliteConnection& connection, Measurement& measurement) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select,
                         connection.Prepare("SELECT name, float64_le FROM series WHERE measurement_id = ?"));
  select->Bind(measurement.arrival);
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, select->Step());
    if (!more) {
      return Status::Ok();
    }
    const std::string_view bytes = select->Bytes(1);
    std::vector<double>& values = measurement.series[std::string(select->Text(0))];
    values.resize(bytes.size() / sizeof(double));
    if (!values.empty()) {
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
    }
  }
}

/// Adds documents a few at a time, under the numbers that they had.
class DocumentMover {
 public:
  explicit DocumentMover(SqliteConnection& connection)
      : connection_(connection), dictionary_(connection), writer_(connection, dictionary_) {}

  Status MoveAll() {
    ASSAY_ASSIGN_OR_RETURN(const StatementPtr documents,
                           connection_.Prepare("SELECT measurement_id, json FROM documents ORDER BY measurement_id"));
    for (bool more = true; more;) {
      ASSAY_ASSIGN_OR_RETURN(more, documents->Step());
      if (more) {
        ASSAY_RETURN_IF_ERROR(Take(documents->Integer(0), documents->Text(1)));
      }
      if (!more || waiting_.size() == kWrittenAtOnce) {
        ASSAY_RETURN_IF_ERROR(WriteWaiting());
      }
    }
    return Status::Ok();
  }

 private:
  Status Take(int64_t id, std::string_view text) {
    ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, connection_.name()));
    Result<Measurement> measurement = MeasurementFromJson(json);
    ASSAY_RETURN_IF_ERROR(measurement.status().WithContext(fmt::format("store {}", connection_.name())));
    measurement->arrival = id;
    ASSAY_RETURN_IF_ERROR(ReadSeries(connection_, *measurement));
    waiting_.push_back(*std::move(measurement));
    return Status::Ok();
  }

  Status WriteWaiting() {
    const Prepared prepared(waiting_);
    ASSAY_RETURN_IF_ERROR(writer_.AddTerms(prepared));
    ASSAY_RETURN_IF_ERROR(writer_.Write(prepared, Arrivals::kGiven));
    waiting_.clear();
    return Status::Ok();
  }

  SqliteConnection& connection_;
  Dictionary dictionary_;
  Writer writer_;
  std::vector<Measurement> waiting_;
};

/// Numbers of claims go on where they were: who still holds one must not be taken for another.
Status MigrateInTransaction(SqliteConnection& connection, int64_t version) {
  int64_t last_fence = 0;
  if (version > 1) {
    ASSAY_ASSIGN_OR_RETURN(last_fence, connection.QueryInteger("SELECT last FROM fences"));
  }
  ASSAY_RETURN_IF_ERROR(connection.Execute(kSetAside));
  ASSAY_RETURN_IF_ERROR(MakeTables(connection));
  ASSAY_RETURN_IF_ERROR(connection.Execute(fmt::format("UPDATE fences SET last = {}", last_fence)));
  ASSAY_RETURN_IF_ERROR(DocumentMover(connection).MoveAll());
  return connection.Execute(kTakeOperations);
}

Status MigrateIfOlder(SqliteConnection& connection, bool somebody_measures_is_fine) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t version_before, SchemaVersion(connection));
  if (version_before == kStoreSchema) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
  ASSAY_ASSIGN_OR_RETURN(const int64_t version, SchemaVersion(connection));
  if (version == kStoreSchema) {
    return Status::Ok();
  }
  if (!somebody_measures_is_fine) {
    ASSAY_RETURN_IF_ERROR(CheckNobodyMeasures(connection, version));
  }
  ASSAY_RETURN_IF_ERROR(MigrateInTransaction(connection, version));
  return transaction.Commit();
}

}  // namespace

Status Migrate(SqliteConnection& connection) {
  return MigrateIfOlder(connection, /*somebody_measures_is_fine=*/false);
}

Status MigrateCopy(SqliteConnection& connection) {
  return MigrateIfOlder(connection, /*somebody_measures_is_fine=*/true);
}

}  // namespace assay::samplestore
