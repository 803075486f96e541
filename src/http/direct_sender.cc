#include "http/direct_sender.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/file_descriptor.h"

namespace assay::http {
namespace {

// What is sent at once is still in the cache when it is checksummed afterwards.
constexpr size_t kPieceBytes = 512 << 10;
// Then the other connections have their turn.
constexpr size_t kTurnBytes = 2 << 20;
// Shorter pieces are better gathered in libcurl's buffer.
constexpr size_t kMinPieceBytes = 32 << 10;
// libcurl is given something each time: from that it knows that bytes move, and when to wait for the socket.
constexpr size_t kCarriedBytes = 4 << 10;
constexpr unsigned kFirstOtherVersion = 0x080700;

int LocalPort(int socket) {
  sockaddr_in6 address = {};  // of either family: the port is in the same place
  socklen_t size = sizeof(address);
  const bool known = ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                     (address.sin6_family == AF_INET6 || address.sin6_family == AF_INET);
  return known ? ntohs(address.sin6_port) : 0;
}

}  // namespace

DirectSender::DirectSender(bool proxied)
    : possible_(!proxied && curl_version_info(CURLVERSION_NOW)->version_num < kFirstOtherVersion) {}

void DirectSender::Begin(std::string_view url) {
  plain_ = possible_ && url.starts_with("http://");
  Rewind();
}

void DirectSender::Rewind() {
  asked_ = 0;
  SetSocket(CURL_SOCKET_BAD);
}

void DirectSender::SetSocket(curl_socket_t socket) {
  checked_ = checked_ && socket == socket_;
  socket_ = socket;
}

/// What libcurl waits for may also be a name's resolution, or an address that lost against another.
bool DirectSender::KnowsConnection(CURL* handle) {
  if (!checked_ && socket_ != CURL_SOCKET_BAD) {
    long port = 0;
    curl_easy_getinfo(handle, CURLINFO_LOCAL_PORT, &port);
    checked_ = port > 0 && LocalPort(socket_) == port;
  }
  return checked_;
}

size_t DirectSender::SendBefore(CURL* handle, BodySource& source, size_t room, size_t whole_buffer) {
  // The first piece always goes through libcurl: it rewinds a body for another connection only if it has sent some.
  if (!plain_ || asked_++ == 0 || room != whole_buffer || !KnowsConnection(handle)) {
    return room;
  }
  for (size_t sent = 0; sent < kTurnBytes;) {
    const std::span<const std::byte> piece = source.Peek(kPieceBytes);
    if (piece.size() < kMinPieceBytes) {
      return room;
    }
    const ssize_t count = RetryOnSignal(
        [&] { return ::send(socket_, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE); });
    if (count <= 0) {
      break;  // full; or broken, which libcurl finds out with what it is given
    }
    source.Skip(static_cast<size_t>(count));
    sent += static_cast<size_t>(count);
  }
  return std::min(room, kCarriedBytes);
}

}  // namespace assay::http
