// Sends bodies straight from where they lie to the socket of a libcurl transfer.
#pragma once

#include <curl/curl.h>

#include <string_view>

#include "http/body.h"

namespace assay::http {

/// libcurl copies a body into a buffer of at most 2 MiB a transfer and sends one buffer at a time. On a connection
/// without TLS the kernel can take it from the caller's memory instead, in larger pieces and for less CPU time.
///
/// This leans on an order that libcurl keeps up to version 8.6: it asks for more of a body when all it was given before
/// is with the kernel, or else asks for less than a whole buffer. With later versions, TLS or a proxy nothing is sent
/// here and the body goes through libcurl as usual. Belongs to the I/O thread.
class DirectSender {
 public:
  /// `proxied`: plain requests may go through a proxy.
  explicit DirectSender(bool proxied);

  /// A transfer begins: its socket is not known yet.
  void Begin(std::string_view url);
  /// The socket that libcurl waits for on behalf of the transfer; CURL_SOCKET_BAD: none.
  void SetSocket(curl_socket_t socket);
  /// The body begins anew, on another connection.
  void Rewind();

  /// Sends what the socket takes of the source's next bytes, up to a bound. libcurl asks with `room` for what comes
  /// after that, and how much it should be given is returned.
  size_t SendBefore(CURL* handle, BodySource& source, size_t room, size_t whole_buffer);

 private:
  bool KnowsConnection(CURL* handle);

  const bool possible_;
  bool plain_ = false;
  int asked_ = 0;  ///< how often libcurl has asked for a piece of this body
  curl_socket_t socket_ = CURL_SOCKET_BAD;
  bool checked_ = false;  ///< `socket_` is the connection
};

}  // namespace assay::http
