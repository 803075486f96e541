#include "http/server_chunked.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "http/server_parser.h"

namespace assay::http {
namespace {

constexpr size_t kMaxLineBytes = 8 << 10;
constexpr size_t kMaxTrailerBytes = 32 << 10;
constexpr size_t kMaxSizeDigits = 15;

}  // namespace

size_t ChunkedDecoder::FeedFraming(std::string_view bytes) {
  size_t taken = 0;
  while (state_ == State::kNeedMore && data_remaining_ == 0 && taken < bytes.size()) {
    const std::string_view rest = bytes.substr(taken);
    const size_t newline = rest.find('\n');
    const size_t count = newline == std::string_view::npos ? rest.size() : newline + 1;
    taken += count;
    if (line_.size() + count > (expected_ == Line::kDataEnd ? 2 : kMaxLineBytes)) {
      Fail(expected_ == Line::kDataEnd ? "a chunk is longer than its size says" : "a line between chunks is too long");
      break;
    }
    line_.append(rest.substr(0, count));
    if (newline == std::string_view::npos) {
      break;
    }
    const std::string line = std::exchange(line_, {});
    OnLine(line);
  }
  return taken;
}

void ChunkedDecoder::ConsumeData(int64_t bytes) {
  data_remaining_ -= bytes;
  if (data_remaining_ == 0) {
    expected_ = Line::kDataEnd;
  }
}

void ChunkedDecoder::OnLine(std::string_view line) {
  line.remove_suffix(1);
  if (line.empty() || line.back() != '\r') {
    return Fail("a line between chunks ends without CR");
  }
  line.remove_suffix(1);
  if (line.find('\r') != std::string_view::npos) {
    return Fail("a CR stands alone between chunks");
  }
  if (expected_ == Line::kSize) {
    return OnSizeLine(line);
  }
  if (expected_ == Line::kDataEnd) {
    expected_ = Line::kSize;
    return line.empty() ? void() : Fail("a chunk is longer than its size says");
  }
  if (line.empty()) {
    state_ = State::kDone;
    return;
  }
  trailer_bytes_ += line.size();
  const std::optional<Header> trailer = ParseHeaderLine(line);
  if (!trailer || trailer_bytes_ > kMaxTrailerBytes) {
    return Fail("a trailer is malformed");
  }
  trailers_.Add(trailer->name, trailer->value);
}

void ChunkedDecoder::OnSizeLine(std::string_view line) {
  const size_t semicolon = std::min(line.find(';'), line.size());
  const std::string_view digits = line.substr(0, semicolon);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), chunk_bytes_, 16);
  if (digits.empty() || digits.size() > kMaxSizeDigits || digits.front() == '-' || code != std::errc() ||
      end != digits.data() + digits.size()) {
    return Fail("the size of a chunk is malformed");
  }
  extension_ = semicolon < line.size() ? line.substr(semicolon + 1) : std::string_view();
  if (!std::ranges::all_of(extension_, [](char c) { return c == '\t' || (c >= 0x20 && c < 0x7f); })) {
    return Fail("the extension of a chunk holds a control character");
  }
  data_remaining_ = chunk_bytes_;
  if (chunk_bytes_ == 0) {
    expected_ = Line::kTrailer;
  }
}

void ChunkedDecoder::Fail(std::string message) {
  state_ = State::kError;
  error_ = std::move(message);
}

}  // namespace assay::http
