#include "http/server_parser.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace assay::http {
namespace {

constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";

bool IsTokenByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kTokenMarks.find(c) != std::string_view::npos;
}

bool IsFieldByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

bool EqualsWithoutCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

size_t CountOf(const Headers& headers, std::string_view name) {
  return std::ranges::count_if(headers.all(),
                               [&](const Header& header) { return EqualsWithoutCase(header.name, name); });
}

}  // namespace

bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsTokenByte);
}

std::optional<Header> ParseHeaderLine(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) {
    return std::nullopt;
  }
  const std::string_view value = TrimBlanks(line.substr(colon + 1));
  if (!std::ranges::all_of(value, IsFieldByte)) {
    return std::nullopt;
  }
  return Header{std::string(line.substr(0, colon)), std::string(value)};
}

std::string_view RequestHead::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string RequestHead::origin() const {
  return (over_tls ? "https://" : "http://") + std::string(headers.Find("Host").value_or(""));
}

std::string_view RequestHead::query() const {
  const size_t mark = target.find('?');
  return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
}

size_t HeadParser::Feed(std::string_view bytes) {
  size_t taken = 0;
  while (state_ == State::kNeedMore && taken < bytes.size()) {
    const std::string_view rest = bytes.substr(taken);
    const size_t newline = rest.find('\n');
    const size_t count = newline == std::string_view::npos ? rest.size() : newline + 1;
    taken += count;
    head_bytes_ += count;
    if (line_.size() + count > limits_.line_bytes) {
      Fail(have_request_line_ ? 431 : 414, "a line of the request's head is too long");
      break;
    }
    if (head_bytes_ > limits_.head_bytes) {
      Fail(431, "the request's head is too long");
      break;
    }
    line_.append(rest.substr(0, count));
    if (newline != std::string_view::npos) {
      const std::string line = std::exchange(line_, {});
      OnLine(line);
    }
  }
  return taken;
}

RequestHead HeadParser::Take() {
  RequestHead head = std::move(head_);
  *this = HeadParser(limits_);
  return head;
}

void HeadParser::OnLine(std::string_view line) {
  line.remove_suffix(1);
  if (line.empty() || line.back() != '\r') {
    return Fail(400, "a line of the request's head ends without CR");
  }
  line.remove_suffix(1);
  if (line.find('\r') != std::string_view::npos) {
    return Fail(400, "a CR stands alone in the request's head");
  }
  if (!have_request_line_) {
    if (line.empty() && head_bytes_ == 2) {
      return;  // RFC 9112 section 2.2: one empty line before a request is forgiven
    }
    return OnRequestLine(line);
  }
  if (line.empty()) {
    return OnHeadEnd();
  }
  OnHeaderLine(line);
}

void HeadParser::OnRequestLine(std::string_view line) {
  have_request_line_ = true;
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || !IsToken(line.substr(0, first))) {
    return Fail(400, "the request line is not METHOD TARGET VERSION");
  }
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return version.starts_with("HTTP/") ? Fail(505, "only HTTP/1.1 and HTTP/1.0 are understood")
                                        : Fail(400, "the request line is not METHOD TARGET VERSION");
  }
  head_.method = line.substr(0, first);
  head_.minor_version = version.back() - '0';
  OnTarget(line.substr(first + 1, last - first - 1));
}

void HeadParser::OnTarget(std::string_view target) {
  const auto visible = [](char c) { return c > 0x20 && c < 0x7f; };
  if (target.empty() || !std::ranges::all_of(target, visible)) {
    return Fail(400, "the request's target holds a byte that must be percent-encoded");
  }
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.starts_with(scheme)) {
      const size_t slash = target.find('/', scheme.size());
      target = slash == std::string_view::npos ? "/" : target.substr(slash);
    }
  }
  if (target.front() != '/') {
    return Fail(400, "the request's target does not begin with '/'");
  }
  head_.target = target;
}

void HeadParser::OnHeaderLine(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') {
    return Fail(400, "a header is folded over lines");
  }
  const std::optional<Header> header = ParseHeaderLine(line);
  if (!header) {
    return Fail(400, "a header line is malformed");
  }
  if (head_.headers.all().size() >= limits_.header_count) {
    return Fail(431, "the request has too many headers");
  }
  head_.headers.Add(header->name, header->value);
}

void HeadParser::OnHeadEnd() {
  const size_t hosts = CountOf(head_.headers, "Host");
  if (hosts > 1 || (hosts == 0 && head_.minor_version == 1)) {
    return Fail(400, "the request must have one Host header");
  }
  state_ = State::kDone;
  ReadContentLength();
  ReadTransferEncoding();
  ReadConnection();
  const std::optional<std::string_view> expect = head_.headers.Find("Expect");
  if (expect && !EqualsWithoutCase(*expect, "100-continue")) {
    return Fail(417, "the only expectation understood is 100-continue");
  }
  head_.expect_continue = expect.has_value() && head_.minor_version == 1;
}

void HeadParser::ReadContentLength() {
  const std::optional<std::string_view> text = head_.headers.Find("Content-Length");
  if (!text) {
    return;
  }
  constexpr size_t kMaxDigits = 18;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (CountOf(head_.headers, "Content-Length") > 1 || text->empty() || text->size() > kMaxDigits ||
      !std::ranges::all_of(*text, is_digit)) {
    return Fail(400, "Content-Length is malformed or repeated");
  }
  int64_t length = 0;
  std::from_chars(text->data(), text->data() + text->size(), length);
  head_.content_length = length;
}

void HeadParser::ReadTransferEncoding() {
  const size_t count = CountOf(head_.headers, "Transfer-Encoding");
  if (count == 0) {
    return;
  }
  if (head_.content_length || head_.minor_version == 0) {
    return Fail(400, "Transfer-Encoding beside Content-Length, or in HTTP/1.0");
  }
  if (count > 1 || !EqualsWithoutCase(*head_.headers.Find("Transfer-Encoding"), "chunked")) {
    return Fail(501, "the only transfer coding understood is chunked");
  }
  head_.chunked = true;
}

void HeadParser::ReadConnection() {
  head_.keep_alive = head_.minor_version == 1;
  for (const Header& header : head_.headers.all()) {
    if (!EqualsWithoutCase(header.name, "Connection")) {
      continue;
    }
    for (const std::string& option : Split(header.value, ',')) {
      if (EqualsWithoutCase(TrimBlanks(option), "close")) {
        head_.keep_alive = false;
        return;
      }
      head_.keep_alive |= EqualsWithoutCase(TrimBlanks(option), "keep-alive");
    }
  }
}

void HeadParser::Fail(int status, std::string message) {
  if (state_ != State::kError) {
    state_ = State::kError;
    error_ = {status, std::move(message)};
  }
}

}  // namespace assay::http
