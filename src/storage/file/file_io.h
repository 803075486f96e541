// Moving bytes between files and the caller's memory: in parallel blocks, with checksums while the bytes are in cache.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

struct FileTransfer {
  int fd = -1;
  std::string uri;  ///< for errors
  int threads = 1;  ///< for what is larger than a few blocks
  CancelFlag cancel = nullptr;
  const ProgressCallback* progress = nullptr;
};

/// Fills every piece. With `checksum`, also the CRC32C of the pieces' concatenation.
Status ReadPieces(const FileTransfer& transfer, std::span<const ReadPiece> pieces, uint32_t* crc32c);

/// Writes `buffers` one behind the other from `offset` on; gives the CRC32C of their concatenation.
Result<uint32_t> WriteBuffers(const FileTransfer& transfer, int64_t offset, std::span<const Bytes> buffers);

/// Appends `bytes` of the file `from` to the present end of the transfer's file, within the kernel.
Status AppendFile(const FileTransfer& transfer, int from, int64_t bytes);

}  // namespace assay::storage
