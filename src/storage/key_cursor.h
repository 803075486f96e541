// Listing of a store whose keys can be walked in order: prefix, delimiter, bounds and pages in one place.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// A position among keys in byte order. Belongs to one thread.
class KeyCursor {
 public:
  virtual ~KeyCursor() = default;
  /// Goes to the first key that is not less than `from`, and gives it; nothing at the end. Never goes back.
  virtual Result<std::optional<std::string>> Seek(const std::string& from) = 0;
  /// Goes to the key behind the present one.
  virtual Result<std::optional<std::string>> Next() = 0;
  /// What is known of the object under the present key; nothing when it has gone meanwhile.
  virtual Result<std::optional<ObjectInfo>> Describe() = 0;
};

/// One page. Its token holds the last name given, so that any page can be asked of any process.
Result<ListPage> ListThrough(KeyCursor& cursor, const ListOptions& options);

/// The first text that is behind every text that begins with `prefix`; empty when there is none.
std::string EndOfPrefix(std::string prefix);

}  // namespace assay::storage
