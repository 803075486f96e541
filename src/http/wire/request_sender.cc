#include "http/wire/request_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace assay::http {
namespace {

// What is sent at once is still in the cache when it is checksummed afterwards.
constexpr size_t kShownBytes = 512 << 10;
// Shorter pieces are better gathered.
constexpr size_t kMinShownBytes = 32 << 10;
constexpr size_t kCopiedBytes = 64 << 10;

std::string HeadOf(const Request& request, const Url& url, std::string_view user_agent, int64_t body_bytes) {
  std::string head =
      fmt::format("{} {}{}{} HTTP/1.1\r\n", request.method, url.path, url.query.empty() ? "" : "?", url.query);
  const auto add = [&](std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(head), "{}: {}\r\n", name, value);
  };
  const auto add_missing = [&](std::string_view name, std::string_view value) {
    if (!request.headers.Has(name)) {
      add(name, value);
    }
  };
  add_missing("Host", url.authority());
  add_missing("User-Agent", user_agent);
  for (const Header& header : request.headers.all()) {
    add(header.name, header.value);
  }
  if (body_bytes > 0 || request.method == "PUT" || request.method == "POST") {
    add_missing("Content-Length", std::to_string(body_bytes));
  }
  return head += "\r\n";
}

}  // namespace

void RequestSender::Begin(const Request& request, const Url& url, std::string_view user_agent, BodySource* source) {
  source_ = source;
  const std::string text = HeadOf(request, url, user_agent, source == nullptr ? 0 : source->bytes());
  const auto head = std::as_bytes(std::span(text));
  buffer_.assign(head.begin(), head.end());
  buffer_sent_ = 0;
  body_left_ = source_ == nullptr ? 0 : source_->bytes();
  begun_ = false;
  state_ = State::kSending;
}

void RequestSender::FillBuffer(size_t most) {
  buffer_.resize(std::min<size_t>({most, kCopiedBytes, static_cast<size_t>(body_left_)}));
  buffer_sent_ = 0;
  const size_t count = source_->Read(buffer_);
  if (count == BodySource::kRefused || count == 0) {
    buffer_.clear();
    state_ = State::kRefused;
    return;
  }
  buffer_.resize(count);
  body_left_ -= static_cast<int64_t>(count);
}

/// Bytes that went out: of the buffer first, then of what the source shows.
void RequestSender::Advance(size_t count) {
  const size_t of_buffer = std::min(count, buffer_.size() - buffer_sent_);
  buffer_sent_ += of_buffer;
  if (count > of_buffer) {
    source_->Skip(count - of_buffer);
    body_left_ -= static_cast<int64_t>(count - of_buffer);
  }
  begun_ = true;
}

Channel::Step RequestSender::SendPiece(Channel& channel, size_t most) {
  std::span<const std::byte> shown;
  if (body_left_ > 0) {
    shown = source_->Peek(std::min(kShownBytes, most));
  }
  if (shown.size() < std::min(kMinShownBytes, most)) {
    shown = {};
  }
  const Channel::Step step = SendPieces(channel, shown, most);
  // The source itself can read what lies there, or knows what to give instead.
  return step.outcome == Channel::Outcome::kUnreadable ? SendPieces(channel, {}, most) : step;
}

/// What the buffer still holds, and `shown`; where there is neither, a piece that is copied.
Channel::Step RequestSender::SendPieces(Channel& channel, std::span<const std::byte> shown, size_t most) {
  std::span<const std::byte> copied = std::span(buffer_).subspan(buffer_sent_);
  if (copied.empty() && shown.empty()) {
    FillBuffer(most);
    copied = buffer_;
    if (copied.empty()) {
      return {};
    }
  }
  const bool more = body_left_ > static_cast<int64_t>(shown.size());
  const std::span<const std::byte> pieces[] = {copied, shown};
  const Channel::Step step =
      channel.Send(std::span(pieces).subspan(copied.empty() ? 1 : 0, shown.empty() || copied.empty() ? 1 : 2), more);
  if (step.outcome == Channel::Outcome::kMoved) {
    Advance(step.bytes);
  }
  return step;
}

Channel::Step RequestSender::Send(Channel& channel, size_t most) {
  Channel::Step all;
  while (state_ == State::kSending && all.bytes < most) {
    const Channel::Step step = SendPiece(channel, most);
    all = {step.outcome, all.bytes + step.bytes};
    if (state_ == State::kSending && body_left_ == 0 && buffer_sent_ == buffer_.size()) {
      state_ = State::kDone;
    }
    if (step.outcome != Channel::Outcome::kMoved) {
      break;
    }
  }
  return all;
}

}  // namespace assay::http
