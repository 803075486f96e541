#include "samplestore/sqlite_migration.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "samplestore/claim_owner.h"
#include "samplestore/measurement.h"
#include "samplestore/sqlite_schema.h"

namespace assay::samplestore {
namespace {

/// Leases of schema 1 were told in the time of day.
LeaseClock ClockOfSchema1() {
  return {.epoch = "", .seconds = [] {
            return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
          }};
}

Status CheckNobodyMeasures(Database& database, int64_t version, const LeaseClock& clock) {
  ASSAY_ASSIGN_OR_RETURN(Statement claims,
                         database.Prepare(version == 1 ? "SELECT owner, '', expires_at FROM claims"
                                                       : "SELECT owner, epoch, expires_at FROM claims"));
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, claims.Step());
    if (!more) {
      return Status::Ok();
    }
    if (ClaimCounts(claims.TextView(0), claims.TextView(1), claims.Number(2),
                    version == 1 ? ClockOfSchema1() : clock)) {
      return Status::FailedPrecondition(fmt::format(
          "store {} has schema {}, and an older assay measures into it ({}), which could not add what it finds to one "
          "of schema {}: wait for it or end it, or name another store",
          database.path(), version, DescribeOwner(claims.TextView(0)), kStoreSchema));
    }
  }
}

/// What a measurement of schema 1 depends on is told from its document, which stays as it is.
Status InsertDependenciesOfSchema1(Database& database) {
  ASSAY_ASSIGN_OR_RETURN(Statement documents, database.Prepare("SELECT measurement_id, json FROM documents"));
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, documents.Step());
    if (!more) {
      return Status::Ok();
    }
    ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(documents.TextView(1), database.path()));
    ASSAY_ASSIGN_OR_RETURN(const Measurement measurement, MeasurementFromJson(json));
    for (const auto& [name, value] : measurement.depends_on) {
      ASSAY_ASSIGN_OR_RETURN(Statement insert, database.Prepare(kInsertDependency));
      ASSAY_RETURN_IF_ERROR(insert.Bind(documents.Integer(0)).Bind(name).Bind(value).Run());
    }
  }
}

/// Claims of schema 1 have no numbers: whoever was stopped and still holds one finds that its measurement cannot be
/// stored.
Status ReplaceSchema1(Database& database) {
  ASSAY_RETURN_IF_ERROR(database.Execute("DROP TABLE claims"));
  ASSAY_RETURN_IF_ERROR(MakeTablesSinceSchema1(database));
  return InsertDependenciesOfSchema1(database);
}

}  // namespace

Status Migrate(Database& database, const LeaseClock& clock) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t version_before, SchemaVersion(database));
  if (version_before == kStoreSchema) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database));
  ASSAY_ASSIGN_OR_RETURN(const int64_t version, SchemaVersion(database));
  if (version == kStoreSchema) {
    return Status::Ok();
  }
  ASSAY_RETURN_IF_ERROR(CheckNobodyMeasures(database, version, clock));
  ASSAY_RETURN_IF_ERROR(version == 1 ? ReplaceSchema1(database)
                                     : database.Execute("ALTER TABLE claims RENAME TO fenced_claims"));
  ASSAY_RETURN_IF_ERROR(database.Execute(fmt::format("UPDATE store_schema SET version = {}", kStoreSchema)));
  return transaction.Commit();
}

}  // namespace assay::samplestore
