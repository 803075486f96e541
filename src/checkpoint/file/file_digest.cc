#include "checkpoint/file/file_digest.h"

#include <algorithm>
#include <mutex>

#include "base/parallel.h"
#include "storage/integrity/checksum.h"

namespace assay::checkpoint {
namespace {

using storage::Bytes;

Bytes BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

DigestPlan::DigestPlan(FileLayout& layout) : layout_(layout), wants_crc32_(layout.segments().size(), false) {
  for (const Crc32Place& place : layout.crc32_places()) {
    wants_crc32_[place.of_segment] = true;
  }
  int64_t at = 0;
  for (size_t i = 0; i < layout.segments().size(); ++i) {
    const int64_t bytes = layout.segments()[i].bytes;
    for (int64_t offset = 0; offset < bytes;) {
      const int64_t piece = std::min(bytes - offset, kSegmentBytes - at % kSegmentBytes);
      pieces_.push_back({.segment = i, .offset = offset, .bytes = piece});
      offset += piece;
      at += piece;
    }
  }
}

void DigestPlan::Sum(Piece& piece, Bytes bytes) const {
  // In blocks that stay in the cache for the second sum.
  constexpr size_t kBlockBytes = 64 << 10;
  const bool both = wants_crc32_[piece.segment];
  for (size_t at = 0; at < bytes.size(); at += kBlockBytes) {
    const Bytes block = bytes.subspan(at, std::min(kBlockBytes, bytes.size() - at));
    piece.crc32c = storage::Crc32c(piece.crc32c, block);
    if (both) {
      piece.crc32 = storage::Crc32(piece.crc32, block);
    }
  }
}

void DigestPlan::FillPlaces(size_t segment) {
  const std::vector<Crc32Place>& places = layout_.crc32_places();
  auto piece = pieces_.begin();
  uint32_t crc = 0;
  size_t summed = layout_.segments().size();
  while (places_filled_ < places.size() && places[places_filled_].text_segment <= segment) {
    const Crc32Place& place = places[places_filled_++];
    if (place.of_segment != summed) {
      summed = place.of_segment;
      crc = 0;
      piece = std::ranges::lower_bound(pieces_, summed, {}, &Piece::segment);
      for (; piece != pieces_.end() && piece->segment == summed; ++piece) {
        crc = storage::CombineCrc32(crc, piece->crc32, piece->bytes);
      }
    }
    std::string little_endian;
    PutLittleEndian(little_endian, crc, sizeof(crc));
    layout_.segments()[place.text_segment].text.replace(place.at, sizeof(crc), little_endian);
  }
}

FileDigest DigestPlan::Finish() const {
  FileDigest digest;
  digest.bytes = layout_.bytes();
  std::vector<uint32_t> by_layout_segment(layout_.segments().size(), 0);
  int64_t at = 0;
  uint32_t stretch = 0;
  for (const Piece& piece : pieces_) {
    stretch = storage::CombineCrc32c(stretch, piece.crc32c, piece.bytes);
    by_layout_segment[piece.segment] =
        storage::CombineCrc32c(by_layout_segment[piece.segment], piece.crc32c, piece.bytes);
    at += piece.bytes;
    if (at % kSegmentBytes == 0 || at == digest.bytes) {
      const int64_t bytes = at % kSegmentBytes == 0 ? kSegmentBytes : at % kSegmentBytes;
      digest.segments.push_back(stretch);
      digest.crc32c = storage::CombineCrc32c(digest.crc32c, stretch, bytes);
      stretch = 0;
    }
  }
  for (size_t i = 0; i < layout_.segments().size(); ++i) {
    if (!layout_.segments()[i].is_text()) {
      digest.items.push_back(by_layout_segment[i]);
    }
  }
  return digest;
}

Result<FileDigest> DigestInPlace(FileLayout& layout, std::vector<Bytes>& buffers) {
  std::vector<Bytes> views;
  for (const Segment& segment : layout.segments()) {
    if (!segment.is_text()) {
      ASSAY_ASSIGN_OR_RETURN(const auto view, segment.source->View(segment.offset, segment.bytes));
      if (!view) {
        return Status::Internal("a source that was said to lie in memory does not");
      }
      views.push_back(*view);
    } else {
      views.emplace_back();
    }
  }
  DigestPlan plan(layout);
  const std::span<DigestPlan::Piece> pieces = plan.pieces();
  ParallelFor(static_cast<int64_t>(pieces.size()), UsableThreads(), [&](int64_t i) {
    DigestPlan::Piece& piece = pieces[static_cast<size_t>(i)];
    if (!layout.segments()[piece.segment].is_text()) {
      plan.Sum(piece,
               views[piece.segment].subspan(static_cast<size_t>(piece.offset), static_cast<size_t>(piece.bytes)));
    }
  });
  plan.FillPlaces(layout.segments().size());
  for (DigestPlan::Piece& piece : pieces) {
    const Segment& segment = layout.segments()[piece.segment];
    if (segment.is_text()) {
      plan.Sum(piece,
               BytesOf(segment.text).subspan(static_cast<size_t>(piece.offset), static_cast<size_t>(piece.bytes)));
    }
  }
  for (size_t i = 0; i < views.size(); ++i) {
    const Segment& segment = layout.segments()[i];
    if (segment.bytes > 0) {
      buffers.push_back(segment.is_text() ? BytesOf(segment.text) : views[i]);
    }
  }
  return plan.Finish();
}

}  // namespace assay::checkpoint
