// A store for a URI.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/object_store.h"
#include "storage/options.h"
#include "storage/store_kind.h"

namespace assay::storage {

/// A URI of one of StoreKinds(), or a plain path, of which the last component is the key, unless it ends with '/'. An
/// unknown scheme names those that are known.
Result<StoreUri> ParseStoreUri(std::string_view uri);

struct StoreAndKey {
  std::shared_ptr<ObjectStore> store;
  std::string key;  ///< may be empty
};

/// Opens the store that `uri` is in. Nothing is sent: a bucket that is missing shows with the first operation. A store
/// in memory is a new one each time.
Result<StoreAndKey> OpenStore(std::string_view uri, const StoreOptions& options);

}  // namespace assay::storage
