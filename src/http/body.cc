#include "http/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace assay::http {

Status MemorySink::Consume(std::span<const std::byte> chunk) {
  if (chunk.size() > memory_.size() - received_) {
    return Status::Io(fmt::format("more than the {} bytes that were asked for came back", memory_.size()));
  }
  std::memcpy(memory_.data() + received_, chunk.data(), chunk.size());
  return Filled(chunk.size());
}

std::span<std::byte> MemorySink::Memory(size_t most) {
  return memory_.subspan(received_, std::min(most, memory_.size() - received_));
}

Status MemorySink::Filled(size_t count) {
  if (hook_) {
    hook_(memory_.subspan(received_, count));
  }
  received_ += count;
  return Status::Ok();
}

Status MemorySink::End() {
  if (received_ != memory_.size()) {
    return Status::Io(fmt::format("{} bytes came back where {} were asked for", received_, memory_.size()));
  }
  return Status::Ok();
}

SpanSource::SpanSource(std::vector<std::span<const std::byte>> pieces, ChunkHook hook)
    : pieces_(std::move(pieces)), hook_(std::move(hook)) {
  for (const auto& piece : pieces_) {
    bytes_ += static_cast<int64_t>(piece.size());
  }
}

size_t SpanSource::Read(std::span<std::byte> out) {
  size_t filled = 0;
  while (filled < out.size() && piece_ < pieces_.size()) {
    const auto rest = pieces_[piece_].subspan(offset_);
    const auto chunk = rest.first(std::min(rest.size(), out.size() - filled));
    if (!chunk.empty()) {
      std::memcpy(out.data() + filled, chunk.data(), chunk.size());
    }
    filled += chunk.size();
    Advance(chunk.size());
  }
  if (hook_ && filled > 0) {
    hook_(out.first(filled));
  }
  return filled;
}

std::span<const std::byte> SpanSource::Peek(size_t most) const {
  if (piece_ == pieces_.size()) {
    return {};
  }
  const auto rest = pieces_[piece_].subspan(offset_);
  const auto but_one = static_cast<size_t>(std::max<int64_t>(bytes_ - position_ - 1, 0));
  return rest.first(std::min({most, rest.size(), but_one}));
}

void SpanSource::Skip(size_t count) {
  if (hook_) {
    hook_(Peek(count));
  }
  Advance(count);
}

void SpanSource::Advance(size_t count) {
  offset_ += count;
  position_ += static_cast<int64_t>(count);
  if (offset_ == pieces_[piece_].size()) {
    ++piece_;
    offset_ = 0;
  }
}

void SpanSource::Rewind() {
  position_ = 0;
  piece_ = 0;
  offset_ = 0;
}

}  // namespace assay::http
