// The objects of a listing one after the other, in order of their keys, while pages behind them are being fetched.
#pragma once

#include <thread>

#include "base/bounded_queue.h"
#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// Holds a few pages, and those that ListInParallel() does. Belongs to one thread.
class ObjectStream {
 public:
  /// All objects whose keys begin with `prefix`. `store` outlives this.
  ObjectStream(ObjectStore& store, const std::string& prefix, CancelFlag cancel);
  ~ObjectStream();
  ObjectStream(const ObjectStream&) = delete;
  ObjectStream& operator=(const ObjectStream&) = delete;

  /// The next object, which may be moved out; null at the end. An error is that of the listing, and its end.
  Result<ObjectInfo*> Peek();
  /// Past the object that Peek() gave.
  void Skip() { ++at_; }

 private:
  void List(ObjectStore& store, const std::string& prefix, CancelFlag cancel);

  BoundedQueue<ListPage> pages_;
  Status listed_;  // written before pages_ is closed
  ListPage page_;
  size_t at_ = 0;
  std::jthread lister_;
};

}  // namespace assay::storage
