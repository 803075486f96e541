// Stores of older schemas.
#pragma once

#include "base/status.h"
#include "samplestore/lease_clock.h"
#include "samplestore/sqlite_database.h"

namespace assay::samplestore {

/// Brings a store of an older schema to this program's, for who writes into it: its rows can be read as they are. Safe
/// when several processes do so at once. An error, and nothing is changed, while a program of the older schema measures
/// into the store, which could not add what it finds: its claims say so, those of schema 2 by `clock`.
Status Migrate(Database& database, const LeaseClock& clock);

}  // namespace assay::samplestore
