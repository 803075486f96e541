// How an object is cut into parts, and how many of them travel at a time.
//
// The rule: one request up to 32 MiB; beyond, parts of 8 MiB, doubled while the object needs more parts than the store
// takes; what a store demands of parts comes before everything. As many connections as there are parts, up to 32. Both
// can be overridden. Where parts are held in our memory, no more of them than the budget has room for, and at least
// one.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "storage/options.h"
#include "storage/transfer/dialect.h"

namespace assay::storage {

inline constexpr int64_t kDefaultPartBytes = int64_t{8} << 20;
/// Up to which an object is written in one request where nobody says how large parts are: beginning and ending an
/// upload in parts are two requests that wait for each other.
inline constexpr int64_t kSinglePutBytes = int64_t{32} << 20;
inline constexpr int kDefaultConnections = 32;

struct PartPlan {
  int64_t part_bytes = 0;
  int64_t parts = 0;
  int connections = 0;
};

/// For an object of known size. InvalidArgument where it does not fit the store in any way.
Result<PartPlan> PlanUpload(int64_t object_bytes, const StoreOptions& options, const DialectTraits& traits);
/// Ranges have no limits of a store.
PartPlan PlanDownload(int64_t bytes, const StoreOptions& options);
/// The size of part `number` (from 1) of an upload of unknown length: grows so that the store's number of parts is
/// enough for its largest object.
int64_t StreamPartBytes(int64_t number, const StoreOptions& options, const DialectTraits& traits);

int ConnectionsOf(const StoreOptions& options);

}  // namespace assay::storage
