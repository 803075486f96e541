// An object of a file store as memory: for copies that need no buffer between.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// A mapped range of a file, unmapped with its owner.
class FileMapping {
 public:
  enum class Access { kRead, kWrite };

  /// The first `bytes` of `fd`, which may be closed afterwards. `uri` is for the error.
  static Result<FileMapping> Make(int fd, int64_t bytes, Access access, const std::string& uri);
  FileMapping(FileMapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  FileMapping& operator=(FileMapping&&) = delete;
  ~FileMapping();

  MutableBytes memory() const { return memory_; }

 private:
  explicit FileMapping(MutableBytes memory) : memory_(memory) {}
  MutableBytes memory_;
};

/// One version of an object, mapped for reading. While another program cuts the file short, reading beyond its new end
/// raises SIGBUS.
class MappedObject {
 public:
  MappedObject(FileDescriptor fd, FileMapping mapping, ObjectInfo info, std::string uri)
      : fd_(std::move(fd)), mapping_(std::move(mapping)), info_(std::move(info)), uri_(std::move(uri)) {}

  const ObjectInfo& info() const { return info_; }
  Bytes bytes() const { return mapping_.memory(); }
  /// FailedPrecondition where another program has written into the file since it was mapped.
  Status CheckUnchanged() const;

 private:
  FileDescriptor fd_;
  FileMapping mapping_;
  ObjectInfo info_;
  std::string uri_;
};

}  // namespace assay::storage
