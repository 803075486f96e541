#include "samplestore/sqlite_schema.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace assay::samplestore {
namespace {

// `measurements` is narrow, so that listing reads little; the whole measurement stands in `documents` as JSON, and its
// values again in `cells`, one row a value and stored column by column, so that a filter or a table of some columns
// parses nothing.
constexpr char kTables[] = R"sql(
CREATE TABLE store_schema(version INTEGER NOT NULL);
INSERT INTO store_schema VALUES (3);

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

// New since schema 1. A claim's number is never given again. A measurement says something only where its dependencies
// hold. Programs that know older schemas only, and have the store open while it is brought to this one, look for a
// table `claims` with every measurement that they add: without it they add none.
constexpr char kNewTables[] = R"sql(
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

constexpr char kCountTables[] = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
constexpr char kHasSchemaTable[] = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'store_schema'";

// Changing to WAL needs the file for itself and does not wait for it by the busy timeout.
Status UseWal(Database& database) {
  constexpr int kTries = 100;
  constexpr auto kPause = std::chrono::milliseconds(20);
  Status status;
  for (int i = 0; i < kTries; ++i) {
    status = database.Execute("PRAGMA journal_mode = WAL");
    if (status.ok() || status.code() != ErrorCode::kIo) {
      return status;
    }
    std::this_thread::sleep_for(kPause);
  }
  return status;
}

}  // namespace

Status MakeTablesSinceSchema1(Database& database) {
  return database.Execute(kNewTables);
}

Result<int64_t> SchemaVersion(Database& database) {
  return database.QueryInteger("SELECT max(version) FROM store_schema");
}

Status CheckSchema(Database& database) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t tables, database.QueryInteger(kCountTables));
  if (tables == 0) {
    return Status::FailedPrecondition(fmt::format(
        "store {} is empty: nothing was stored in it (measure something first, or name another one)", database.path()));
  }
  ASSAY_ASSIGN_OR_RETURN(const int64_t has_schema, database.QueryInteger(kHasSchemaTable));
  if (has_schema == 0) {
    return Status::FailedPrecondition(fmt::format(
        "{} is not a store: it is an SQLite database of another program (choose another file)", database.path()));
  }
  ASSAY_ASSIGN_OR_RETURN(const int64_t version, SchemaVersion(database));
  if (version > kStoreSchema) {
    return Status::FailedPrecondition(
        fmt::format("store {} has schema {}, but this program knows schemas up to {}: use a newer version of it",
                    database.path(), version, kStoreSchema));
  }
  return Status::Ok();
}

Status PrepareSchema(Database& database) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t tables, database.QueryInteger(kCountTables));
  if (tables != 0) {
    ASSAY_RETURN_IF_ERROR(CheckSchema(database));
  }
  ASSAY_RETURN_IF_ERROR(UseWal(database));
  // In WAL mode this loses nothing when a process dies; only a power cut may take the last transactions.
  ASSAY_RETURN_IF_ERROR(database.Execute("PRAGMA synchronous = NORMAL"));
  if (tables != 0) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database));
  ASSAY_ASSIGN_OR_RETURN(const int64_t tables_now, database.QueryInteger(kCountTables));
  if (tables_now != 0) {
    return CheckSchema(database);
  }
  ASSAY_RETURN_IF_ERROR(database.Execute(kTables));
  ASSAY_RETURN_IF_ERROR(MakeTablesSinceSchema1(database));
  return transaction.Commit();
}

}  // namespace assay::samplestore
