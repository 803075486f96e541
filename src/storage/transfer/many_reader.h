// Reads of many objects, as many at a time as connections allow.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "storage/object_store.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

/// `options`: those of all. Reads each piece of at most `part_bytes` in one request, and tells its status. A piece that
/// is a whole object is compared with what the store records of it, which is asked for where the answer does not say.
/// Returns which are left to be read one by one: larger ones, empty ones, and those that turned out to be damaged or to
/// have changed.
std::vector<size_t> ReadSmall(const CallContext& context, std::span<const ObjectRead> reads, int64_t part_bytes,
                              const ReadOptions& options, std::span<Status> statuses);

}  // namespace assay::storage
