#include "storage/transfer/checksum_source.h"

#include <utility>

namespace assay::storage {

ChecksumSource::ChecksumSource(std::vector<std::span<const std::byte>> pieces, ChecksumKind kind)
    : pieces_(std::move(pieces)), spans_(pieces_), kind_(kind), stream_(kind) {}

size_t ChecksumSource::Read(std::span<std::byte> out) {
  const size_t filled = spans_.Read(out);
  read_bytes_ += static_cast<int64_t>(filled);
  const bool last = filled > 0 && read_bytes_ == bytes();
  if (last && guard_ && !guard_()) {
    return kRefused;
  }
  if (!checksum_) {
    stream_.Update(out.first(filled));
    if (last) {
      checksum_ = stream_.Finish();
    }
  }
  return filled;
}

void ChecksumSource::Skip(size_t count) {
  if (!checksum_) {
    stream_.Update(spans_.Peek(count));
  }
  spans_.Skip(count);
  read_bytes_ += static_cast<int64_t>(count);
}

void ChecksumSource::Rewind() {
  spans_.Rewind();
  stream_ = ChecksumStream(kind_);
  read_bytes_ = 0;
}

const Checksum& ChecksumSource::checksum() {
  if (!checksum_) {
    ChecksumStream stream(kind_);
    for (const auto piece : pieces_) {
      stream.Update(piece);
    }
    checksum_ = stream.Finish();
  }
  return *checksum_;
}

}  // namespace assay::storage
