// A store for a URI.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/object_store.h"
#include "storage/options.h"

namespace assay::storage {

/// A URI's parts, before anything is opened.
struct StoreUri {
  std::string scheme;  ///< "s3", "gs", "oci", "file", "mem"
  std::string bucket;  ///< of oci: "bucket@namespace"; of file: the folder; of mem: any name
  std::string key;     ///< may be empty: the bucket itself; taken as it stands, nothing is decoded
};

/// "s3://bucket/key", "gs://bucket/key", "oci://bucket@namespace/key", "mem://name/key", "file:///path" and a plain
/// path. Of a path, the last component is the key, unless it ends with '/'. An unknown scheme names those that are
/// known.
Result<StoreUri> ParseStoreUri(std::string_view uri);

struct StoreAndKey {
  std::shared_ptr<ObjectStore> store;
  std::string key;  ///< may be empty
};

/// Opens the store that `uri` is in. Nothing is sent: a bucket that is missing shows with the first operation. A store
/// in memory is a new one each time.
Result<StoreAndKey> OpenStore(std::string_view uri, const StoreOptions& options);

}  // namespace assay::storage
