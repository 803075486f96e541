#include "storage/file/file_io.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <vector>

#include "base/file_descriptor.h"
#include "base/parallel.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

// What one thread moves at a time: large enough that a thread is worth starting.
constexpr size_t kBlockBytes = 8 << 20;
// What one system call moves: small enough that the checksum finds the bytes in the second-level cache.
constexpr size_t kCallBytes = 512 << 10;
constexpr size_t kCallSegments = 256;

// Bytes that lie one behind the other in the file, and where they are in memory.
struct Block {
  int64_t offset = 0;
  size_t bytes = 0;
  std::vector<iovec> segments{};
  uint32_t crc = 0;
};

// Adds memory that belongs at `offset` of the file: to the last block while that is not full, else to new ones.
void AppendMemory(std::vector<Block>& blocks, std::byte* memory, size_t bytes, int64_t offset) {
  while (bytes > 0) {
    if (blocks.empty() || blocks.back().bytes >= kBlockBytes ||
        blocks.back().offset + static_cast<int64_t>(blocks.back().bytes) != offset) {
      blocks.push_back({.offset = offset});
    }
    Block& block = blocks.back();
    const size_t part = std::min(bytes, kBlockBytes - block.bytes);
    block.segments.push_back({memory, part});
    block.bytes += part;
    memory += part;
    bytes -= part;
    offset += static_cast<int64_t>(part);
  }
}

// The segments of the next call, and a way past those that it moved.
class SegmentWindow {
 public:
  explicit SegmentWindow(const std::vector<iovec>& segments) : segments_(segments) {}

  const std::vector<iovec>& Take() {
    window_.clear();
    size_t bytes = 0;
    size_t skip = skip_;
    for (size_t i = at_; i < segments_.size() && bytes < kCallBytes && window_.size() < kCallSegments; ++i) {
      const size_t part = std::min(segments_[i].iov_len - skip, kCallBytes - bytes);
      window_.push_back({static_cast<std::byte*>(segments_[i].iov_base) + skip, part});
      bytes += part;
      skip = 0;
    }
    return window_;
  }

  void Advance(size_t bytes, uint32_t* crc) {
    for (const iovec& part : window_) {
      const size_t moved = std::min(bytes, part.iov_len);
      if (crc != nullptr) {
        *crc = Crc32c(*crc, {static_cast<const std::byte*>(part.iov_base), moved});
      }
      bytes -= moved;
      skip_ += moved;
      if (skip_ == segments_[at_].iov_len) {
        ++at_;
        skip_ = 0;
      }
      if (bytes == 0) {
        return;
      }
    }
  }

 private:
  const std::vector<iovec>& segments_;
  std::vector<iovec> window_;
  size_t at_ = 0;    // the segment to go on with,
  size_t skip_ = 0;  // and the bytes of it that are done
};

// Moves one block by `call(iovecs, count, offset)`, which is preadv or pwritev.
template <typename Call>
Status MoveBlock(const FileTransfer& transfer, std::string_view verb, Block& block, bool with_crc, const Call& call) {
  SegmentWindow window(block.segments);
  for (size_t done = 0; done < block.bytes;) {
    if (IsCancelled(transfer.cancel)) {
      return CancelledStatus(verb, transfer.uri);
    }
    const std::vector<iovec>& parts = window.Take();
    const ssize_t moved = RetryOnSignal(
        [&] { return call(parts.data(), static_cast<int>(parts.size()), block.offset + static_cast<int64_t>(done)); });
    if (moved < 0) {
      return ErrnoStatus(errno, verb, transfer.uri);
    }
    if (moved == 0) {
      return Status::FailedPrecondition(
          fmt::format("cannot {} {}: the file became shorter meanwhile (try again)", verb, transfer.uri));
    }
    window.Advance(static_cast<size_t>(moved), with_crc ? &block.crc : nullptr);
    if (transfer.progress != nullptr && *transfer.progress) {
      (*transfer.progress)(moved);
    }
    done += static_cast<size_t>(moved);
  }
  return Status::Ok();
}

// Several blocks at a time; the first error in their order is the answer.
template <typename Call>
Status MoveBlocks(const FileTransfer& transfer, std::string_view verb, std::vector<Block>& blocks, bool with_crc,
                  const Call& call) {
  std::vector<Status> statuses(blocks.size());
  std::atomic<bool> failed = false;
  ParallelFor(static_cast<int64_t>(blocks.size()), transfer.threads, [&](int64_t i) {
    const auto index = static_cast<size_t>(i);
    if (!failed.load(std::memory_order_relaxed)) {
      statuses[index] = MoveBlock(transfer, verb, blocks[index], with_crc, call);
      if (!statuses[index].ok()) {
        failed = true;
      }
    }
  });
  for (Status& status : statuses) {
    ASSAY_RETURN_IF_ERROR(std::move(status));
  }
  return Status::Ok();
}

/// As copy_file_range(), also where the system cannot copy between the two files, as across some file systems.
ssize_t CopySome(int from, int64_t offset, int to, size_t most) {
  off64_t at = offset;
  const ssize_t copied = RetryOnSignal([&] { return ::copy_file_range(from, &at, to, nullptr, most, 0); });
  if (copied >= 0 || (errno != EXDEV && errno != EOPNOTSUPP && errno != ENOSYS)) {
    return copied;
  }
  std::vector<std::byte> memory(std::min(most, kCallBytes));
  const ssize_t got = RetryOnSignal([&] { return ::pread(from, memory.data(), memory.size(), offset); });
  return got <= 0 ? got : RetryOnSignal([&] { return ::write(to, memory.data(), static_cast<size_t>(got)); });
}

uint32_t Combine(const std::vector<Block>& blocks) {
  uint32_t crc = 0;
  for (const Block& block : blocks) {
    crc = CombineCrc32c(crc, block.crc, static_cast<int64_t>(block.bytes));
  }
  return crc;
}

}  // namespace

Status ReadPieces(const FileTransfer& transfer, std::span<const ReadPiece> pieces, uint32_t* crc32c) {
  std::vector<Block> blocks;
  for (const ReadPiece& piece : pieces) {
    AppendMemory(blocks, piece.memory.data(), piece.memory.size(), piece.offset);
  }
  const auto call = [&](const iovec* parts, int count, int64_t offset) {
    return ::preadv(transfer.fd, parts, count, offset);
  };
  ASSAY_RETURN_IF_ERROR(MoveBlocks(transfer, "read", blocks, crc32c != nullptr, call));
  if (crc32c != nullptr) {
    *crc32c = Combine(blocks);
  }
  return Status::Ok();
}

Result<uint32_t> WriteBuffers(const FileTransfer& transfer, int64_t offset, std::span<const Bytes> buffers) {
  std::vector<Block> blocks;
  for (const Bytes& buffer : buffers) {
    // The call below only reads from it.
    AppendMemory(blocks, const_cast<std::byte*>(buffer.data()), buffer.size(), offset);
    offset += static_cast<int64_t>(buffer.size());
  }
  const auto call = [&](const iovec* parts, int count, int64_t at) { return ::pwritev(transfer.fd, parts, count, at); };
  ASSAY_RETURN_IF_ERROR(MoveBlocks(transfer, "write", blocks, true, call));
  return Combine(blocks);
}

Status AppendFile(const FileTransfer& transfer, int from, int64_t bytes) {
  // A call that copies all at once could not be cancelled.
  constexpr int64_t kStep = 64 << 20;
  for (int64_t done = 0; done < bytes;) {
    if (IsCancelled(transfer.cancel)) {
      return CancelledStatus("copy to", transfer.uri);
    }
    const auto step = static_cast<size_t>(std::min(kStep, bytes - done));
    const ssize_t copied = CopySome(from, done, transfer.fd, step);
    if (copied < 0) {
      return ErrnoStatus(errno, "copy to", transfer.uri);
    }
    if (copied == 0) {
      return Status::FailedPrecondition("cannot copy to " + transfer.uri + ": a source became shorter (try again)");
    }
    if (transfer.progress != nullptr && *transfer.progress) {
      (*transfer.progress)(copied);
    }
    done += copied;
  }
  return Status::Ok();
}

}  // namespace assay::storage
