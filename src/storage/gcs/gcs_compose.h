// Objects made of objects within Google Cloud Storage, by either of its APIs.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "storage/object_store.h"

namespace assay::storage {

/// One request, of at most 32 sources; `options` holds the write's token among its metadata.
using ComposeRequest = std::function<Result<ObjectInfo>(std::span<const ObjectInfo> sources, const std::string& to,
                                                        const WriteOptions& options)>;

/// Size and, where the sources give it, checksum of what is composed of them.
ObjectInfo ConcatenationOf(std::span<const ObjectInfo> sources);

/// ObjectStore::Compose() for `store`: in groups of 32 where there are more sources, through objects beside `to` that
/// are removed again.
Result<ObjectInfo> ComposeInGroups(ObjectStore& store, std::span<const std::string> from, const std::string& to,
                                   const WriteOptions& options, const ComposeRequest& request);

}  // namespace assay::storage
