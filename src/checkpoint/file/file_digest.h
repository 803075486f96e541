// Checksums of a file by stretches of a fixed size, by items and as a whole, made in one pass over its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "checkpoint/file/file_layout.h"

namespace assay::checkpoint {

/// Bytes of the file that one checksum is for: a part of a tensor is checked by reading at most so much more at each
/// end.
inline constexpr int64_t kSegmentBytes = int64_t{1} << 20;

/// CRC32C values.
struct FileDigest {
  int64_t bytes = 0;
  uint32_t crc32c = 0;
  std::vector<uint32_t> segments{};  ///< of each kSegmentBytes of the file, the last one shorter
  std::vector<uint32_t> items{};     ///< of each item of the layout
};

/// Takes the bytes of a layout piece by piece. A piece lies within one segment of the layout and within one stretch of
/// kSegmentBytes; pieces may be summed in any order and from several threads, and are put together at the end.
class DigestPlan {
 public:
  struct Piece {
    size_t segment = 0;  ///< of the layout
    int64_t offset = 0;  ///< in it
    int64_t bytes = 0;
    uint32_t crc32c = 0;
    uint32_t crc32 = 0;  ///< only where the layout has a place for it
  };

  /// `layout` must outlive it.
  explicit DigestPlan(FileLayout& layout);

  std::span<Piece> pieces() { return pieces_; }
  /// Of bytes that are here; safe for different pieces at a time.
  void Sum(Piece& piece, storage::Bytes bytes) const;
  /// Fills the places in the texts of CRC-32s whose segments end before `segment`. All pieces before must be summed.
  void FillPlaces(size_t segment);
  /// When all pieces are summed.
  FileDigest Finish() const;

 private:
  FileLayout& layout_;
  std::vector<Piece> pieces_;
  std::vector<bool> wants_crc32_;  ///< by segment
  size_t places_filled_ = 0;
};

/// Sums everything, in several threads, and fills the texts: of a layout whose sources can all be viewed where they
/// lie. Gives the file's bytes as they lie, in order, in `buffers`.
Result<FileDigest> DigestInPlace(FileLayout& layout, std::vector<storage::Bytes>& buffers);

}  // namespace assay::checkpoint
