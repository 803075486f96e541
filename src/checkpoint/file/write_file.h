// Writes a layout as an object: from where its bytes lie, or through a few buffers where they must be fetched.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "checkpoint/file/file_digest.h"
#include "checkpoint/file/file_layout.h"
#include "storage/object_store.h"

namespace assay::checkpoint {

/// What was written, and what the store said of it.
struct WrittenFile {
  storage::ObjectInfo info{};
  FileDigest digest{};
};

struct WriteFileOptions {
  storage::WriteOptions write{};
  /// Memory beyond the tensors' own, of a file whose bytes are fetched from elsewhere.
  int64_t buffer_bytes = int64_t{32} << 20;
  /// Told of the file before anybody can see it; an error gives the write up.
  std::function<Status(const FileDigest& digest)> before_publish{};
};

/// Writes the file under `key`. Where all its sources can be viewed, their bytes are summed first and then sent from
/// where they lie, and the store fails the write if it sees other bytes than were summed: memory that changes during a
/// save is an error. Others are fetched, summed and written window by window, while the next one is fetched. Nothing is
/// visible unless all of it is written and no source has changed meanwhile.
Result<WrittenFile> WriteFile(storage::ObjectStore& store, const std::string& key, FileLayout& layout,
                              const WriteFileOptions& options);

}  // namespace assay::checkpoint
