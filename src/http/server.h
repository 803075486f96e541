// A small HTTP/1.1 server: a few epoll loops, thousands of connections, bodies received where they belong and sent
// from where they lie, and a network that can be made slow or broken on purpose.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/server_parser.h"
#include "http/server_response.h"

namespace assay::http {

/// One request in the making: made when its head has come, fed its body, asked for the response. All calls come from
/// one loop's thread, in order; it is destroyed after Finish(), or without it when the connection breaks.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// False: the answer needs no body. A client that waits for "100 Continue" gets the answer instead; what another
  /// sends is read and dropped.
  virtual bool wants_body() const { return true; }
  /// Memory for the next bytes of the body: 1 to `most` bytes. Empty: the rest of the body is not wanted.
  virtual std::span<std::byte> BodyMemory(size_t most) = 0;
  /// The first `count` bytes of what BodyMemory() gave last now hold body.
  virtual void BodyReceived(size_t count) = 0;
  /// The request is whole. May block briefly; the loop's other connections wait meanwhile.
  virtual ServerResponse Finish(const Headers& trailers) = 0;
};

/// Called on a loop's thread; several loops call it at the same time.
using ExchangeFactory = std::function<std::unique_ptr<Exchange>(RequestHead head)>;

/// Collects the body as text for `handler`; a body beyond `max_body_bytes` is answered with 413.
using BodyHandler = std::function<ServerResponse(std::string_view body)>;
std::unique_ptr<Exchange> TextExchange(BodyHandler handler, size_t max_body_bytes = 16 << 20);

/// A factory for servers all of whose requests are of that kind.
using TextHandler = std::function<ServerResponse(const RequestHead& head, std::string_view body)>;
ExchangeFactory WholeBody(TextHandler handler, size_t max_body_bytes = 16 << 20);

/// A response that is ready before the body.
std::unique_ptr<Exchange> ReadyExchange(ServerResponse response);

/// Bandwidth in bytes a second, each way; 0: as fast as it goes.
struct NetworkLimits {
  double connection_bytes_per_s = 0;
  double total_bytes_per_s = 0;
};

struct ServerOptions {
  std::string host = "127.0.0.1";  ///< an IPv4 or IPv6 address, or "localhost"
  int port = 0;                    ///< 0: any free one
  int threads = 0;                 ///< 0: one a core, 2 to 8
  double idle_timeout_seconds = 120;
  double head_timeout_seconds = 30;  ///< of a whole request head, from its first byte on, however its bytes come
  int max_connections = 8192;        ///< those beyond wait in the kernel until one ends
  /// Then those end that have waited longest for a request or for more of its body: who says nothing shuts nobody out.
  bool idle_make_room = false;
  bool take_bodies = true;  ///< false: a request with a body is answered with 413 before any of it has come
  ParserLimits limits;
  NetworkLimits network;
  /// PEM: a chain of certificates and its key. Empty: plain http.
  std::string tls_certificate_file{};
  std::string tls_key_file{};
};

/// Counters since the start. Written by the loops, read by anyone.
struct ServerStats {
  std::atomic<int64_t> connections_accepted = 0;
  std::atomic<int64_t> connections_open = 0;
  std::atomic<int64_t> bytes_received = 0;
  std::atomic<int64_t> bytes_sent = 0;
  std::atomic<int64_t> malformed_requests = 0;
};

/// A running server. The destructor stops it.
class Server {
 public:
  /// Listens and starts the loops; a port in use, or an address that is not this machine's, is one line.
  static Result<std::unique_ptr<Server>> Start(const ServerOptions& options, ExchangeFactory factory);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  const std::string& url() const;  ///< "http://127.0.0.1:41234"
  const ServerStats& stats() const;
  /// Closes the listener and every connection, and waits for the loops. A second call does nothing.
  void Stop();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::http
