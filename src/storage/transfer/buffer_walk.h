// A walk over scattered buffers that cuts them into runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/object_store.h"
#include "storage/transfer/whole_put.h"

namespace assay::storage {

/// Of buffers that it does not own, nor their list.
class BufferWalk {
 public:
  explicit BufferWalk(std::span<const Bytes> buffers) : buffers_(buffers) {}

  /// The next `bytes`, or what is left of them.
  Pieces Next(int64_t bytes) {
    Pieces pieces;
    while (bytes > 0 && buffer_ < buffers_.size()) {
      const Bytes rest = buffers_[buffer_].subspan(offset_);
      const Bytes piece = rest.first(std::min(rest.size(), static_cast<size_t>(bytes)));
      if (!piece.empty()) {
        pieces.push_back(piece);
      }
      bytes -= static_cast<int64_t>(piece.size());
      offset_ += piece.size();
      if (piece.size() == rest.size()) {
        ++buffer_;
        offset_ = 0;
      }
    }
    return pieces;
  }

 private:
  std::span<const Bytes> buffers_;
  size_t buffer_ = 0;
  size_t offset_ = 0;
};

}  // namespace assay::storage
