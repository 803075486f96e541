// Whether two objects hold the same bytes, without moving them where checksums tell.
#pragma once

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// `a` and `b` are what their stores list. False also where nothing proves that they are equal: different sizes, or
/// stores that record no common checksum. A file is read and summed, an object elsewhere is not.
Result<bool> SameContent(ObjectStore& store_a, const ObjectInfo& a, ObjectStore& store_b, const ObjectInfo& b,
                         CancelFlag cancel);

/// When an object that is to be copied counts as being at the target already.
enum class Comparison {
  kNone,     ///< never
  kContent,  ///< the same size and SameContent()
  kTime,     ///< the same size, and the target's is not the older one
  kSize,     ///< the same size
};
Result<bool> AreEqual(Comparison comparison, ObjectStore& source_store, const ObjectInfo& source,
                      ObjectStore& target_store, const ObjectInfo& target, CancelFlag cancel);

}  // namespace assay::storage
