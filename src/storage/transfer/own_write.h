// What stands after a write whose answer was lost, or does not name the object.
#pragma once

#include <string>

#include "storage/object_store.h"
#include "storage/transfer/call_runner.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {

/// `options` with a token of the write among the metadata, whatever its condition: for requests whose answer need not
/// name the object that they leave.
WriteOptions WithToken(WriteOptions options);

/// Of a request that failed: the object that stands under `key` where it is what this very write left (its metadata
/// holds the token of `options`), so that the request had been carried out; else the request's error. May ask the
/// store.
Result<ObjectInfo> OwnWriteOr(const CallContext& context, const CallResult& result, const std::string& key,
                              const WriteOptions& options);

/// Of a write that was answered as carried out, and whose metadata holds the token of `options`: what stands under the
/// key of `written`. Where that is of another size or, as far as both are known, checksum, an error that names it.
/// Where it is not that write's any more, or the store does not say, `written`.
Result<ObjectInfo> AskPublished(const CallContext& context, const ObjectInfo& written, const WriteOptions& options);

}  // namespace assay::storage
