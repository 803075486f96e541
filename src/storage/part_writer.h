// A write whose parts several producers fill at a time, in any order, in memory of the store's budget.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// Parts are numbered from 0 and lie one behind the other; how large each is depends on its index alone. Bytes go from
/// the memory that a producer filled to the network without a copy, while others fill more; an object of one part is
/// written in one request. Safe from several threads. Nothing is visible before Commit; the destructor aborts, and all
/// memory is given back, also that of parts which were reserved and never written.
class PartWriter {
 public:
  virtual ~PartWriter() = default;

  /// Where part `index` begins in the object, and how many bytes it has: all but the last have just as many. Later
  /// parts are larger, so that the parts that the store takes make up its largest object, as far as the budget has room
  /// for one of that size.
  virtual int64_t PartOffset(int64_t index) const = 0;
  virtual int64_t PartBytes(int64_t index) const = 0;

  /// PartBytes(index) of memory, until that part is written. Waits for room in the budget; a thread that reserves
  /// several parts before it writes one counts as waiting for itself, as MemoryPool::Take() says.
  virtual Result<MutableBytes> Reserve(int64_t index) = 0;
  /// Hands over the first `filled` bytes of what Reserve(index) gave, which must not be touched any more. Fewer than
  /// PartBytes(index) only of the last part. An error is that of the whole write, and of all that follows.
  virtual Status WritePart(int64_t index, int64_t filled) = 0;

  /// All parts from 0 on were written, and by no thread still are.
  virtual Result<ObjectInfo> Commit() = 0;
  /// Gives the upload up and frees what the store holds of it.
  virtual void Abort() = 0;
};

}  // namespace assay::storage
