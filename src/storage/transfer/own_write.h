// What stands after a write that was made within the store: its answer was lost, or does not say what it holds.
#pragma once

#include <string>

#include "storage/object_store.h"
#include "storage/transfer/single_call.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

/// `options` with a token of the write among the metadata, whatever its condition: for requests whose answer need not
/// name the object that they leave.
WriteOptions WithToken(WriteOptions options);

/// Of a request that failed and would have left an object of the size and the checksum (where known) of `content`: the
/// object that stands under `key` where it is what this very write left (its metadata holds the token of `options`), so
/// that the request had been carried out; else the request's error. May ask the store.
Result<ObjectInfo> OwnWriteOr(const CallContext& context, const CallResult& result, const std::string& key,
                              const ObjectInfo& content, const WriteOptions& options);

/// Of a request that was answered as carried out, and has made `copy` of what the store holds, which has the size, the
/// checksum (where known) and the etag (of one object) of `content`: what is known of the copy. Where it has another
/// size or checksum, an error that names it. Asks the store where the answer does not tell; where that does not say
/// either, or another has written since, `copy`.
Result<ObjectInfo> ProveCopy(const CallContext& context, const ObjectInfo& content, ObjectInfo copy,
                             const WriteOptions& options);

}  // namespace assay::storage
