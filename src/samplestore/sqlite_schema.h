// The tables of a store, and the check that a file is one.
#pragma once

#include "base/status.h"
#include "samplestore/sqlite_database.h"

namespace assay::samplestore {

/// The schema that this program reads and writes. A store says which one it has in table `store_schema`.
inline constexpr int64_t kStoreSchema = 3;

/// Adds one dependency: measurement, name, value.
inline constexpr char kInsertDependency[] = "INSERT INTO dependencies(measurement_id, name, value) VALUES (?, ?, ?)";

/// Makes the tables in an empty database; otherwise as CheckSchema. Safe when several processes do so at once.
Status PrepareSchema(Database& database);

/// Those that schema 1 did not have.
Status MakeTablesSinceSchema1(Database& database);

/// That the store says it has.
Result<int64_t> SchemaVersion(Database& database);

/// An error for a database that is not a store, or one of a newer version.
Status CheckSchema(Database& database);

}  // namespace assay::samplestore
