// What a server sends back: pieces of memory or of files, and how they are delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "http/message.h"
#include "http/server_stream.h"

namespace assay::http {

/// A piece of a response's body: memory that its owner keeps alive, or a range of an open file. Sent without a copy in
/// this process.
struct BodyPiece {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  std::shared_ptr<const FileDescriptor> file;  ///< set: `offset` and `length` say which part of it
  int64_t offset = 0;
  int64_t length = 0;

  static BodyPiece Memory(std::shared_ptr<const void> owner, std::span<const std::byte> bytes);
  static BodyPiece Text(std::string text);
  static BodyPiece File(std::shared_ptr<const FileDescriptor> file, int64_t offset, int64_t length);

  int64_t size() const { return file ? length : static_cast<int64_t>(bytes.size()); }
  /// Drops the first `count` bytes.
  void RemovePrefix(int64_t count);
  /// Keeps the first `count` bytes.
  void Truncate(int64_t count);
};

/// How a body that is not delivered whole ends.
enum class CutKind {
  kNone,
  kClose,  ///< the connection is closed in order, too early
  kReset,  ///< the connection is reset (TCP RST)
  kStall,  ///< nothing more comes; the connection stays open until the client gives up
};

struct ServerResponse {
  int status = 200;
  Headers headers;  ///< Content-Length, Connection and Date are added when they are sent
  std::vector<BodyPiece> body;
  /// Set: the body comes from there, in chunks, and `body` is not sent.
  std::shared_ptr<ResponseStream> stream;
  /// Set: the response is the one that comes from there; all else here counts for nothing.
  std::shared_ptr<DeferredResponse> deferred;
  /// Of a response to HEAD, whose body is not sent; elsewhere the body's own length holds.
  std::optional<int64_t> head_content_length;
  int64_t unannounced_bytes = 0;  ///< of the body's end, which Content-Length leaves out: a server that is broken
  double delay_seconds = 0;       ///< from the end of the request to the first byte of the answer
  CutKind cut = CutKind::kNone;   ///< what happens after `cut_after_bytes` of the body
  int64_t cut_after_bytes = -1;   ///< -1: before the first byte of the head
  bool close_connection = false;  ///< after this response
  /// Called once on the loop's thread, with the body bytes that the kernel took and whether all was sent.
  std::function<void(int64_t body_bytes, bool complete)> on_sent;

  int64_t body_bytes() const;
};

/// A response of one line of plain text.
ServerResponse TextResponse(int status, std::string text);

/// "Not Found" for 404; "Status" where there is no name.
const char* ReasonPhrase(int status);

/// The head of `response` as it goes over the wire.
std::string SerializeHead(const ServerResponse& response, bool head_request, bool keep_alive, const std::string& date);

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7).
std::string HttpDate(int64_t unix_seconds);

}  // namespace assay::http
