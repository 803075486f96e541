// What stores that are reached over a network have besides: reads and writes that hold no thread while they wait, and
// writes by several producers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/task.h"
#include "storage/object_store.h"
#include "storage/part_writer.h"

namespace assay::storage {

/// The operations of ObjectStore as tasks. What is given by reference must live until the task has ended. They compute
/// checksums, and call what the caller gave them, on the executor of who awaits them, and now and then wait there for
/// a request that is sent once for many operations (of how the store behaves).
class AsyncStore {
 public:
  virtual Task<Result<ObjectInfo>> ReadAsync(const std::string& key, std::span<const ReadPiece> pieces,
                                             const ReadOptions& options) = 0;
  virtual Task<Result<ObjectInfo>> ReadWholeAsync(const std::string& key,
                                                  const std::function<MutableBytes(int64_t size)>& allocate,
                                                  const ReadOptions& options) = 0;
  virtual Task<Result<ObjectInfo>> WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                              const WriteOptions& options) = 0;
  /// Unsupported where the store takes an object under that condition only in order, as a stream (OpenWriter()).
  virtual Result<std::unique_ptr<PartWriter>> OpenParts(const std::string& key, const WriteOptions& options) = 0;

 protected:
  ~AsyncStore() = default;
};

}  // namespace assay::storage
