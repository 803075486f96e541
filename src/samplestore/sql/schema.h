// The tables of a store, the same in every database, and the check that a database is one.
#pragma once

#include "base/status.h"
#include "samplestore/sql/connection.h"

namespace assay::samplestore {

/// The schema that this program reads and writes. A store says which one it has in table `store_schema`.
inline constexpr int64_t kStoreSchema = 4;

/// Makes all tables. In a transaction, in a database that has none of them.
Status MakeTables(Connection& connection);

/// That the store says it has; it has the table that says it.
Result<int64_t> SchemaVersion(Connection& connection);

/// An error for a store of a newer version.
Status CheckNotNewer(const Connection& connection, int64_t version);

}  // namespace assay::samplestore
