#include "storage/transfer/whole_check.h"

#include <algorithm>
#include <utility>

#include "storage/transfer/checksum_parts.h"

namespace assay::storage {
namespace {

std::optional<Checksum> ChecksumOfPieces(ChecksumKind kind, std::span<const ReadPiece> content, int64_t size) {
  std::vector<ReadPiece> pieces(content.begin(), content.end());
  std::ranges::stable_sort(pieces, {}, &ReadPiece::offset);
  ChecksumStream stream(kind);
  int64_t end = 0;
  for (const ReadPiece& piece : pieces) {
    if (piece.offset != end) {
      return std::nullopt;
    }
    stream.Update(piece.memory);
    end += static_cast<int64_t>(piece.memory.size());
  }
  return end == size ? std::optional(stream.Finish()) : std::nullopt;
}

}  // namespace

std::optional<Checksum> WholeChecksum(ChecksumKind kind, std::vector<PartChecksum> ranges,
                                      std::span<const ReadPiece> content, int64_t size) {
  const std::optional<Checksum> combined = CombineParts(std::move(ranges), size);
  return combined && combined->kind == kind ? combined : ChecksumOfPieces(kind, content, size);
}

}  // namespace assay::storage
