// The strict reading of HTTP/1.1 requests (RFC 9112): what two readers could understand in two ways is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace assay::http {

/// The head of a request that a server received.
struct RequestHead {
  std::string method;
  std::string target;  ///< origin form as sent, still percent-encoded: "/path?query"
  Headers headers;
  int minor_version = 1;
  bool keep_alive = true;
  bool expect_continue = false;
  bool chunked = false;
  bool over_tls = false;  ///< the connection's, which the parser does not know
  std::optional<int64_t> content_length;

  bool has_body() const { return chunked || content_length.value_or(0) > 0; }
  std::string_view path() const;   ///< the target up to '?'
  std::string_view query() const;  ///< what stands after '?'
  std::string origin() const;      ///< as the client knows the server: "https://HOST:PORT"
};

/// Why a request is refused: a status of the 400s or 500s and one line for the client.
struct ParseError {
  int status = 400;
  std::string message;
};

struct ParserLimits {
  size_t line_bytes = 16 << 10;
  size_t head_bytes = 64 << 10;
  size_t header_count = 256;
};

/// Reads one request head from bytes that come in any pieces. Refused: bare CR or LF, folded lines, blanks before a
/// colon, repeated or malformed Content-Length, Content-Length beside Transfer-Encoding, a transfer coding other than
/// one "chunked", a missing or repeated Host, control characters, what exceeds the limits.
class HeadParser {
 public:
  enum class State { kNeedMore, kDone, kError };

  explicit HeadParser(ParserLimits limits = {}) : limits_(limits) {}

  /// Takes bytes up to the end of the head at most; returns how many it took.
  size_t Feed(std::string_view bytes);
  State state() const { return state_; }
  /// True when no byte of a request has come.
  bool idle() const { return state_ == State::kNeedMore && head_bytes_ == 0 && line_.empty(); }
  const ParseError& error() const { return error_; }
  /// The finished head; the parser is ready for the next one.
  RequestHead Take();

 private:
  void OnLine(std::string_view line);
  void OnRequestLine(std::string_view line);
  void OnTarget(std::string_view target);
  void OnHeaderLine(std::string_view line);
  void OnHeadEnd();
  void ReadContentLength();
  void ReadTransferEncoding();
  void ReadConnection();
  void Fail(int status, std::string message);

  ParserLimits limits_;
  State state_ = State::kNeedMore;
  ParseError error_;
  std::string line_;  ///< the beginning of a line whose end has not come
  size_t head_bytes_ = 0;
  bool have_request_line_ = false;
  RequestHead head_;
};

/// Header lines are shared with trailers: "Name: value" without its CRLF. Nothing for a malformed one.
std::optional<Header> ParseHeaderLine(std::string_view line);

/// True for a non-empty token of RFC 9110 section 5.6.2.
bool IsToken(std::string_view text);

}  // namespace assay::http
