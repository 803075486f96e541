// Stores of older schemas, which were all in SQLite files.
#pragma once

#include "base/status.h"
#include "samplestore/sqlite/connection.h"

namespace assay::samplestore {

/// Brings a store of an older schema to this program's, for who writes into it. Safe when several processes do so at
/// once. An error, and nothing is changed, while a program of the older schema measures into the store, which could not
/// add what it finds: its claims say so.
Status Migrate(SqliteConnection& connection);

/// The same of a copy that nobody else knows, whoever measures into its original.
Status MigrateCopy(SqliteConnection& connection);

}  // namespace assay::samplestore
