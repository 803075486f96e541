// An object read from end to end in windows: memory stays bounded whatever its size.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

struct ReadThroughOptions {
  int64_t offset = 0;
  int64_t length = -1;  ///< below 0: to the end
  int64_t window_bytes = int64_t{32} << 20;
  /// At the end of a whole read, compare it with what the store records; unless `read` verifies nothing.
  bool verify_whole = true;
  ReadOptions read;
};

/// Gives `sink` the bytes in order, on this thread, while the next window is fetched on another: two windows of memory,
/// of the store's pool where it has one (one window, where that has no room for two).
/// `object` is what Stat() says of it; a version with another etag ends the read, as an error of the sink does. That
/// the whole is damaged shows only after its last byte.
Status ReadThrough(ObjectStore& store, const ObjectInfo& object, const ReadThroughOptions& options,
                   const std::function<Status(Bytes)>& sink);

/// The checksum of the whole content, read again. `window_bytes` of 0: ReadThroughOptions' own.
Result<Checksum> ReadChecksum(ObjectStore& store, const ObjectInfo& object, ChecksumKind kind,
                              const ReadOptions& options, int64_t window_bytes = 0);

}  // namespace assay::storage
