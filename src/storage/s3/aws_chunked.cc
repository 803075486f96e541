#include "storage/s3/aws_chunked.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace assay::storage {
namespace {

/// A body without bytes is the last chunk alone: a chunk of none before it would end the body.
std::string HeadOf(int64_t bytes) {
  return bytes == 0 ? "" : fmt::format("{:x}\r\n", bytes);
}

std::string TailOf(int64_t bytes, const std::string& trailer_name, const std::string& checksum) {
  return fmt::format("{}0\r\n{}:{}\r\n\r\n", bytes == 0 ? "" : "\r\n", trailer_name, checksum);
}

/// Base64 of a digest has a length that its kind decides.
size_t Base64Bytes(ChecksumKind kind) {
  return (DigestBytes(kind) + 2) / 3 * 4;
}

}  // namespace

AwsChunkedSource::AwsChunkedSource(ChecksumSource& body) : body_(body), head_(HeadOf(body.bytes())) {}

std::string AwsChunkedSource::trailer_name() const {
  return fmt::format("x-amz-checksum-{}", NameOf(body_.kind()));
}

int64_t AwsChunkedSource::bytes() const {
  const std::string tail = TailOf(body_.bytes(), trailer_name(), std::string(Base64Bytes(body_.kind()), '='));
  return static_cast<int64_t>(head_.size() + tail.size()) + body_.bytes();
}

size_t AwsChunkedSource::ReadText(std::span<std::byte> out, const std::string& text) {
  const size_t bytes = std::min(out.size(), text.size());
  std::memcpy(out.data(), text.data(), bytes);
  return bytes;
}

size_t AwsChunkedSource::Read(std::span<std::byte> out) {
  const auto head_bytes = static_cast<int64_t>(head_.size());
  const int64_t body_end = head_bytes + body_.bytes();
  size_t filled = 0;
  if (position_ < head_bytes) {
    filled = ReadText(out, head_.substr(static_cast<size_t>(position_)));
  }
  if (filled < out.size() && position_ + static_cast<int64_t>(filled) >= head_bytes && position_ < body_end) {
    const size_t body_bytes = body_.Read(out.subspan(filled));
    if (body_bytes == kRefused) {
      return kRefused;
    }
    filled += body_bytes;
  }
  const int64_t now = position_ + static_cast<int64_t>(filled);
  if (filled < out.size() && now >= body_end) {
    if (tail_.empty()) {
      tail_ = TailOf(body_.bytes(), trailer_name(), body_.checksum().Base64());
    }
    filled += ReadText(out.subspan(filled), tail_.substr(static_cast<size_t>(now - body_end)));
  }
  position_ += static_cast<int64_t>(filled);
  return filled;
}

std::span<const std::byte> AwsChunkedSource::Peek(size_t most) const {
  return position_ < static_cast<int64_t>(head_.size()) ? std::span<const std::byte>() : body_.Peek(most);
}

void AwsChunkedSource::Skip(size_t count) {
  body_.Skip(count);
  position_ += static_cast<int64_t>(count);
}

void AwsChunkedSource::Rewind() {
  body_.Rewind();
  position_ = 0;
}

}  // namespace assay::storage
