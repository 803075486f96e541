#include "samplestore/sql/schema.h"

#include <fmt/format.h>

#include <string>

#include "base/text.h"

namespace assay::samplestore {
namespace {

// What is read of many measurements is narrow; what they are described by stands once, in `terms`. `postings` is an
// inverted index: a filter is the intersection of short sorted lists, the newest of which are at their ends.
//
// `measurements`   one row each; `arrival` is the order in which they came, and is not given again
// `contents`       all else of each: ids of its terms, values of its targets as a JSON list, its series end to end
// `points`         what is measured: the memo key
// `fenced_claims`  who is measuring what, and until when; `fences` has the last number that was given to a claim
// `operations`     which command measured or met what
//
// `store_identity` a random name, by which a connection tells this store from another one in its place
//
// There are no foreign keys: rows come and go whole, in transactions, and to look up what each posting names would cost
// more than to write it.
constexpr char kTables[] = R"sql(
CREATE TABLE store_schema(version BIGINT NOT NULL);
INSERT INTO store_schema VALUES ({version});
CREATE TABLE store_identity(id TEXT NOT NULL);
INSERT INTO store_identity VALUES ('{identity}');

CREATE TABLE terms(
  id {id},
  digest TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL);

CREATE TABLE points(
  id {id},
  experiment TEXT NOT NULL,
  parameterized_id TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  UNIQUE (entity_id, parameterized_id));

CREATE TABLE measurements(
  arrival {arrival},
  uid TEXT NOT NULL UNIQUE,
  point_id BIGINT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('valid', 'invalid', 'failed')),
  measured_at TEXT NOT NULL);
CREATE INDEX measurements_by_point ON measurements(point_id);
CREATE INDEX measurements_by_time ON measurements(measured_at);

CREATE TABLE contents(
  arrival {given_id},
  reason TEXT NOT NULL,
  terms TEXT NOT NULL,
  target_values TEXT NOT NULL,
  series_lengths TEXT NOT NULL,
  series_float64_le BYTEA NOT NULL);

CREATE TABLE postings(
  term_id BIGINT NOT NULL,
  arrival BIGINT NOT NULL,
  PRIMARY KEY (term_id, arrival)){by_key};

CREATE TABLE fenced_claims(
  parameterized_id TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  fence BIGINT NOT NULL,
  epoch TEXT NOT NULL,
  expires_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (parameterized_id, entity_id)){by_key};
CREATE TABLE fences(last BIGINT NOT NULL);
INSERT INTO fences VALUES (0);

CREATE TABLE operations(
  id {id},
  uid TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  space TEXT NOT NULL,
  owner TEXT NOT NULL,
  details TEXT NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL,
  exit_state TEXT NOT NULL,
  measured BIGINT NOT NULL,
  replayed BIGINT NOT NULL);
CREATE TABLE operation_results(
  operation_uid TEXT NOT NULL,
  request_index BIGINT NOT NULL,
  measurement_uid TEXT NOT NULL,
  replayed BIGINT NOT NULL,
  PRIMARY KEY (operation_uid, request_index)){by_key};
)sql";

}  // namespace

Status MakeTables(Connection& connection) {
  const SchemaWords words = connection.words();
  return connection.Execute(fmt::format(kTables, fmt::arg("version", kStoreSchema), fmt::arg("identity", RandomUid()),
                                        fmt::arg("id", words.id), fmt::arg("given_id", words.given_id),
                                        fmt::arg("arrival", words.arrival), fmt::arg("by_key", words.by_key)));
}

Result<int64_t> SchemaVersion(Connection& connection) {
  return connection.QueryInteger("SELECT max(version) FROM store_schema");
}

Status CheckNotNewer(const Connection& connection, int64_t version) {
  if (version <= kStoreSchema) {
    return Status::Ok();
  }
  return Status::FailedPrecondition(
      fmt::format("store {} has schema {}, but this program knows schemas up to {}: use a newer version of it",
                  connection.name(), version, kStoreSchema));
}

}  // namespace assay::samplestore
