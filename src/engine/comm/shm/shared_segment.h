// Anonymous memory that several processes map.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file_descriptor.h"

namespace assay::engine {

/// Where another process of this user finds a segment: as a file of the process that made it. No name in any file
/// system: the memory goes when the last process that maps it does, however that ends.
struct SegmentAddress {
  int64_t pid = 0;
  int64_t fd = 0;
  int64_t inode = 0;  ///< of the segment: a process that has the other's id, and a file there, is not taken for it
};

/// A sparse segment of zeros of `bytes`. Throws CommError.
FileDescriptor create_segment(const char* name, size_t bytes);
SegmentAddress address_of(const FileDescriptor& segment);
/// `owner` ("rank 2") for errors. Throws CommError, also when the owner has ended and another process has its id.
FileDescriptor open_segment(const SegmentAddress& address, const std::string& owner);

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
