// A write of unknown length into a staged file.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "storage/file/file_io.h"
#include "storage/file/staged_file.h"
#include "storage/object_store.h"

namespace assay::storage {

class FileWriter final : public ObjectWriter {
 public:
  /// Publishes a staged file that is written to its end.
  using Finish = std::function<Result<ObjectInfo>(StagedFile&, const Checksum& crc32c, const WriteOptions&)>;

  FileWriter(StagedFile staged, FileTransfer transfer, WriteOptions options, Finish finish);

  Status Write(Bytes bytes) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override { staged_.Discard(); }

 private:
  /// Writes what was gathered and then `bytes`; gives the disk space up on an error.
  Status Flush(Bytes bytes);

  StagedFile staged_;
  FileTransfer transfer_;
  const WriteOptions options_;
  const Finish finish_;
  std::vector<std::byte> gathered_;  // small writes, until a system call is worth it
  int64_t written_ = 0;
  uint32_t crc32c_ = 0;
  std::optional<ChecksumStream> expected_;  // of another kind than CRC32C
};

}  // namespace assay::storage
