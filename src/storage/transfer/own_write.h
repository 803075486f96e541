// Conditional requests whose answers were lost.
#pragma once

#include <string>

#include "storage/object_store.h"
#include "storage/transfer/call_runner.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {

/// Of a request that failed: the object that stands under `key` where it is what this very write left (its metadata
/// holds the token of `options`), so that the request had been carried out; else the request's error. May ask the
/// store.
Result<ObjectInfo> OwnWriteOr(const CallContext& context, const CallResult& result, const std::string& key,
                              const WriteOptions& options);

}  // namespace assay::storage
