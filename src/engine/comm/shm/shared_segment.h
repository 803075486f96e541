// Anonymous memory that several processes map.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/file_descriptor.h"

namespace assay::engine {

/// Where another process of this user finds a segment: as a file of the process that made it. No name in any file
/// system: the memory goes when the last process that maps it does, however that ends.
struct SegmentAddress {
  int64_t pid;
  int64_t fd;
};

/// A sparse segment of zeros of `bytes`. Throws CommError.
FileDescriptor create_segment(const char* name, size_t bytes);
SegmentAddress address_of(const FileDescriptor& segment);
FileDescriptor open_segment(const SegmentAddress& address);

/// A segment mapped for reading and writing.
class SharedMapping {
 public:
  SharedMapping() = default;
  /// Maps all of `segment`, which may be closed afterwards. Throws CommError.
  explicit SharedMapping(const FileDescriptor& segment);
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  ~SharedMapping();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace assay::engine
