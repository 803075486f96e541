// What stands after a write whose answer was lost, or does not name the object.
#pragma once

#include <memory>
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

/// Of a write that was carried out and whose answer does not name the object's etag: what stands under the key of
/// `written`. Where that is of another size or, as far as both are known, checksum, an error that names it.
Result<ObjectInfo> AskPublished(const CallContext& context, const ObjectInfo& written);

/// What a write answered; where that does not name the object's etag (on GCS the generation, which the answer to parts,
/// to a copy or to a compose need not tell), what AskPublished() says.
Result<ObjectInfo> WithEtag(const CallContext& context, Result<ObjectInfo> written);
/// Likewise of what `writer` writes.
std::unique_ptr<ObjectWriter> WithEtag(const CallContext& context, std::unique_ptr<ObjectWriter> writer);

}  // namespace assay::storage
