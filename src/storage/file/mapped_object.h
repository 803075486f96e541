// An object of a file store as memory: for copies that need no buffer between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "storage/file/truncation_guard.h"
#include "storage/object_store.h"

namespace assay::storage {

/// A mapped range of a file, unmapped with its owner. What is mapped for reading is guarded (truncation_guard.h): pages
/// that another program cuts off read as zeros. Of small files that are to be read the bytes are copied: to map and
/// unmap them takes longer.
class FileMapping {
 public:
  enum class Access { kRead, kWrite };

  /// The first `bytes` of `fd`, which may be closed afterwards. `uri` is for the error.
  static Result<FileMapping> Make(int fd, int64_t bytes, Access access, const std::string& uri);
  FileMapping(FileMapping&& other) noexcept
      : memory_(std::exchange(other.memory_, {})), guard_(std::move(other.guard_)), copy_(std::move(other.copy_)) {}
  FileMapping& operator=(FileMapping&&) = delete;
  ~FileMapping();

  MutableBytes memory() const { return memory_; }

 private:
  explicit FileMapping(MutableBytes memory, std::optional<TruncationGuard> guard = std::nullopt)
      : memory_(memory), guard_(std::move(guard)) {}
  static Result<FileMapping> Copy(int fd, int64_t bytes, const std::string& uri);

  MutableBytes memory_;
  std::optional<TruncationGuard> guard_;
  std::unique_ptr<std::byte[]> copy_;  // null: mapped
};

/// One version of an object, mapped for reading. What is read is of that version when CheckUnchanged() says so
/// afterwards.
class MappedObject {
 public:
  MappedObject(FileDescriptor fd, FileMapping mapping, ObjectInfo info, std::string uri)
      : fd_(std::move(fd)), mapping_(std::move(mapping)), info_(std::move(info)), uri_(std::move(uri)) {}

  const ObjectInfo& info() const { return info_; }
  Bytes bytes() const { return mapping_.memory(); }
  /// FailedPrecondition where another program has written into the file, or cut it short, since it was mapped.
  Status CheckUnchanged() const;

 private:
  FileDescriptor fd_;
  FileMapping mapping_;
  ObjectInfo info_;
  std::string uri_;
};

}  // namespace assay::storage
