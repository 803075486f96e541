// Tar files (POSIX.1-1988 ustar, POSIX.1-2001 pax, and what GNU tar adds), read and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::shards {

/// A regular file in a tar.
struct TarMember {
  std::string name;
  std::span<const std::byte> content;
  uint64_t begin = 0;  ///< of its first header, extended ones included
  uint64_t end = 0;    ///< behind its last block
};

/// Reads the members of a tar that lies in memory, in order. Belongs to one thread.
class TarReader {
 public:
  /// `tar` may be a part of a file, from byte `offset` of it on: errors count from the file's begin.
  explicit TarReader(std::span<const std::byte> tar, uint64_t offset = 0) : tar_(tar), offset_(offset) {}
  /// The next regular file, which links, folders and the like are not; nothing at the end. InvalidArgument where the
  /// tar is damaged: a header whose sum is wrong, a size that reaches behind the end, something behind the empty block
  /// that ends it.
  Result<std::optional<TarMember>> Next();
  /// Whether the last error is of a member that goes on behind what lies here.
  bool is_cut_off() const { return is_cut_off_; }
  /// Behind what was read.
  uint64_t position() const { return at_; }

 private:
  Status Damaged(uint64_t at, std::string_view what) const;
  Status CutOff(uint64_t at, std::string_view what);

  std::span<const std::byte> tar_;
  uint64_t offset_;
  uint64_t at_ = 0;
  bool is_cut_off_ = false;
};

/// Appends a regular file with WebDataset's owner and mode (bigdata, 0444) and the time 0, in ustar where its name
/// fits, else with a pax header before it.
Status AppendTarMember(std::string& tar, std::string_view name, std::span<const std::byte> content);

/// Of a tar of `bytes` once it is ended.
uint64_t EndedTarBytes(uint64_t bytes);

/// What ends a tar of `bytes`: two empty blocks, filled up to a multiple of 20 blocks as tar itself does.
std::string TarEnd(uint64_t bytes);

}  // namespace assay::shards
