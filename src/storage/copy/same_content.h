// Whether two objects hold the same bytes, without moving them where checksums tell.
#pragma once

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// `a` and `b` are what their stores list. False also where nothing proves that they are equal: different sizes, or
/// stores that record no common checksum. A file is read and summed, an object elsewhere is not.
Result<bool> SameContent(ObjectStore& store_a, const ObjectInfo& a, ObjectStore& store_b, const ObjectInfo& b,
                         CancelFlag cancel);

}  // namespace assay::storage
