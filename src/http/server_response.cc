#include "http/server_response.h"

#include <ctime>
#include <string_view>
#include <utility>

namespace assay::http {
namespace {

struct Reason {
  int status;
  const char* phrase;
};

constexpr Reason kReasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Resume Incomplete"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

/// What users say of objects comes back in headers, through dialects that let them say anything: a line break in it
/// must not begin a header of its own.
void AppendField(std::string& head, std::string_view name, std::string_view value) {
  const auto append = [&head](std::string_view text) {
    for (const char c : text) {
      head += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
    }
  };
  append(name);
  head.append(": ");
  append(value);
  head.append("\r\n");
}

bool HasNoBody(int status) {
  return status < 200 || status == 204 || status == 304;
}

}  // namespace

BodyPiece BodyPiece::Memory(std::shared_ptr<const void> owner, std::span<const std::byte> bytes) {
  BodyPiece piece;
  piece.owner = std::move(owner);
  piece.bytes = bytes;
  return piece;
}

BodyPiece BodyPiece::Text(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const auto bytes = std::as_bytes(std::span(*owner));
  return Memory(std::move(owner), bytes);
}

BodyPiece BodyPiece::File(std::shared_ptr<const FileDescriptor> file, int64_t offset, int64_t length) {
  BodyPiece piece;
  piece.file = std::move(file);
  piece.offset = offset;
  piece.length = length;
  return piece;
}

void BodyPiece::RemovePrefix(int64_t count) {
  if (file) {
    offset += count;
    length -= count;
  } else {
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void BodyPiece::Truncate(int64_t count) {
  if (file) {
    length = count;
  } else {
    bytes = bytes.first(static_cast<size_t>(count));
  }
}

int64_t ServerResponse::body_bytes() const {
  int64_t total = 0;
  for (const BodyPiece& piece : body) {
    total += piece.size();
  }
  return total;
}

ServerResponse TextResponse(int status, std::string text) {
  ServerResponse response;
  response.status = status;
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.body.push_back(BodyPiece::Text(std::move(text) + "\n"));
  return response;
}

const char* ReasonPhrase(int status) {
  for (const Reason& reason : kReasons) {
    if (reason.status == status) {
      return reason.phrase;
    }
  }
  return "Status";
}

std::string SerializeHead(const ServerResponse& response, bool head_request, bool keep_alive, const std::string& date) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + ' ' + ReasonPhrase(response.status) + "\r\n";
  for (const Header& header : response.headers.all()) {
    AppendField(head, header.name, header.value);
  }
  if (!response.headers.Has("Date")) {
    AppendField(head, "Date", date);
  }
  if (response.stream) {
    AppendField(head, "Transfer-Encoding", "chunked");
  } else if (!HasNoBody(response.status)) {
    const int64_t length = head_request ? response.head_content_length.value_or(response.body_bytes())  //
                                        : response.body_bytes();
    AppendField(head, "Content-Length", std::to_string(length - response.unannounced_bytes));
  }
  head.append(keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
  return head;
}

std::string HttpDate(int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts = {};
  ::gmtime_r(&time, &parts);
  char text[64];
  const size_t size = std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return std::string(text, size);
}

}  // namespace assay::http
