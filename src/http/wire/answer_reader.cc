#include "http/wire/answer_reader.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/terminal.h"
#include "base/text.h"
#include "http/server_parser.h"

namespace assay::http {
namespace {

bool SameWord(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

/// Whether a list such as that of Connection holds `word`.
bool ListHolds(std::string_view list, std::string_view word) {
  const std::vector<std::string> words = Split(list, ',');
  return std::ranges::any_of(words, [word](const std::string& each) { return SameWord(Trim(each), word); });
}

std::optional<int64_t> ParseLength(std::string_view text) {
  constexpr size_t kMaxDigits = 18;
  int64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text.size() <= kMaxDigits && text.front() != '-' ? std::optional(length) : std::nullopt;
}

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 60;
  return "'" + Escaped(std::string(text.substr(0, kShown))) + "'";
}

std::span<const std::byte> BytesOfText(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

void AnswerReader::Begin(bool head_only) {
  state_ = State::kHead;
  line_.clear();
  head_only_ = head_only;
  has_status_ = false;
  keep_alive_ = true;
  framing_ = Framing::kNone;
  remaining_ = 0;
  chunks_ = {};
}

void AnswerReader::Refuse(const std::string& what) {
  answer_.GiveUp(TransportError::kProtocol, what);
  state_ = State::kFailed;
}

size_t AnswerReader::Feed(std::string_view bytes, double now) {
  size_t taken = 0;
  while (taken < bytes.size() && (state_ == State::kHead || state_ == State::kBody)) {
    const std::string_view rest = bytes.substr(taken);
    taken += state_ == State::kHead ? FeedHead(rest, now) : FeedBody(rest, now);
  }
  return taken;
}

size_t AnswerReader::FeedHead(std::string_view bytes, double now) {
  const size_t newline = bytes.find('\n');
  const size_t count = newline == std::string_view::npos ? bytes.size() : newline + 1;
  if (!answer_.CountHeader(count, now)) {
    state_ = State::kFailed;
    return count;
  }
  line_.append(bytes.substr(0, count));
  if (newline != std::string_view::npos) {
    std::string line = std::exchange(line_, {});
    line.pop_back();
    if (!line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    OnLine(line);
  } else if (!has_status_ && !std::string_view("HTTP/1.").starts_with(std::string_view(line_).substr(0, 7))) {
    Refuse("what came is not HTTP: " + Quoted(line_));
  }
  return count;
}

void AnswerReader::OnLine(std::string_view line) {
  if (!has_status_) {
    OnStatusLine(line);
  } else if (line.empty()) {
    OnHeadEnd();
  } else {
    OnHeaderLine(line);
  }
}

void AnswerReader::OnStatusLine(std::string_view line) {
  int status = 0;
  const bool version = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  const std::string_view code = version ? line.substr(9, 3) : std::string_view();
  const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), status);
  if (error != std::errc() || code.size() != 3 || end != code.data() + 3 || status < 100 ||
      (line.size() > 12 && line[12] != ' ')) {
    return Refuse("what came is not HTTP: " + Quoted(line));
  }
  has_status_ = true;
  keep_alive_ = line[7] == '1';
  answer_.BeginHead(status);
}

void AnswerReader::OnHeaderLine(std::string_view line) {
  const std::optional<Header> header = ParseHeaderLine(line);
  if (!header) {
    return Refuse("a header line of the answer is malformed: " + Quoted(line));
  }
  answer_.AddHeader(header->name, header->value);
}

void AnswerReader::OnHeadEnd() {
  const int status = answer_.status();
  has_status_ = false;
  if (status == 101) {
    return Refuse("the answer changes to another protocol");
  }
  if (status / 100 == 1) {
    return;  // an interim answer
  }
  for (const Header& header : answer_.response().headers.all()) {
    if (SameWord(header.name, "Connection")) {
      keep_alive_ = (keep_alive_ || ListHolds(header.value, "keep-alive")) && !ListHolds(header.value, "close");
    }
  }
  ReadFraming();
  if (state_ == State::kFailed) {
    return;
  }
  state_ = State::kBody;
  if (framing_ == Framing::kNone || (framing_ == Framing::kLength && remaining_ == 0)) {
    End();
  }
}

void AnswerReader::ReadFraming() {
  const int status = answer_.status();
  if (head_only_ || status == 204 || status == 304) {
    framing_ = Framing::kNone;
    return;
  }
  const bool has_length = ReadLength();
  framing_ = has_length ? Framing::kLength : Framing::kUntilClosed;
  for (const Header& header : answer_.response().headers.all()) {
    if (!SameWord(header.name, "Transfer-Encoding")) {
      continue;
    }
    if (!SameWord(header.value, "chunked") || framing_ == Framing::kChunked) {
      return Refuse("the answer has a transfer coding other than chunked: " + Quoted(header.value));
    }
    framing_ = Framing::kChunked;
    keep_alive_ = keep_alive_ && !has_length;
  }
}

/// Whether the answer names a length. Where it names several they must be the same.
bool AnswerReader::ReadLength() {
  std::optional<int64_t> length;
  for (const Header& header : answer_.response().headers.all()) {
    if (!SameWord(header.name, "Content-Length")) {
      continue;
    }
    const std::optional<int64_t> named = ParseLength(header.value);
    if (!named || (length && *length != *named)) {
      Refuse("the answer's Content-Length is malformed or contradicts itself: " + Quoted(header.value));
      return false;
    }
    length = named;
  }
  remaining_ = length.value_or(0);
  return length.has_value();
}

size_t AnswerReader::FeedBody(std::string_view bytes, double now) {
  if (framing_ == Framing::kChunked && chunks_.data_remaining() == 0) {
    const bool trailers = chunks_.last_chunk();
    const size_t taken = chunks_.FeedFraming(bytes);
    if (!answer_.CountHeader(trailers ? taken : 0, now)) {
      state_ = State::kFailed;
    } else if (chunks_.state() == ChunkedDecoder::State::kError) {
      Refuse(chunks_.error());
    } else if (chunks_.state() == ChunkedDecoder::State::kDone) {
      End();
    }
    return taken;
  }
  int64_t most = static_cast<int64_t>(bytes.size());
  if (framing_ != Framing::kUntilClosed) {
    most = std::min(most, framing_ == Framing::kChunked ? chunks_.data_remaining() : remaining_);
  }
  const auto count = static_cast<size_t>(most);
  if (!answer_.TakeBody(BytesOfText(bytes.substr(0, count)), now)) {
    state_ = State::kFailed;
    return count;
  }
  Take(most);
  return count;
}

void AnswerReader::Take(int64_t bytes) {
  if (framing_ == Framing::kChunked) {
    chunks_.ConsumeData(bytes);
  } else if (framing_ == Framing::kLength) {
    remaining_ -= bytes;
    if (remaining_ == 0) {
      End();
    }
  }
}

std::span<std::byte> AnswerReader::Memory(size_t most) {
  if (state_ != State::kBody) {
    return {};
  }
  if (framing_ != Framing::kUntilClosed) {
    const int64_t left = framing_ == Framing::kChunked ? chunks_.data_remaining() : remaining_;
    most = std::min<size_t>(most, static_cast<size_t>(left));
  }
  return most == 0 ? std::span<std::byte>() : answer_.Memory(most);
}

void AnswerReader::Filled(size_t count, double now) {
  if (!answer_.Filled(count, now)) {
    state_ = State::kFailed;
    return;
  }
  Take(static_cast<int64_t>(count));
}

bool AnswerReader::OnEnd() {
  if (state_ == State::kBody && framing_ == Framing::kUntilClosed) {
    End();
    return true;
  }
  return state_ == State::kDone;
}

void AnswerReader::End() {
  state_ = answer_.End() ? State::kDone : State::kFailed;
}

}  // namespace assay::http
