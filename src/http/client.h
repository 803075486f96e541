// HTTP client: a few I/O threads, kept connections, bodies received where they belong and sent from where they lie.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/body.h"
#include "http/message.h"

namespace assay::http {

/// Who moves the bytes.
enum class Carrier {
  kDirect,   ///< connections of our own; libcurl where a proxy may be in between
  kLibcurl,  ///< for all
};

struct ClientOptions {
  int max_connections = 64;  ///< transfers in progress; those beyond wait their turn
  Carrier carrier = Carrier::kDirect;
  int io_threads = 0;  ///< each with connections of its own; 0: as many as kDefaultIoThreads, if there are cores
  double connect_timeout_seconds = 10;
  /// No byte moved for so long, or of an answer's body less than kMinBytesPerSecond; whole seconds; 0: for ever.
  double stall_timeout_seconds = 20;
  double total_timeout_seconds = 0;  ///< of an transfer, from its start on a connection; 0: none
  bool verify_tls = true;
  std::string ca_file{};              ///< PEM; empty: the system's
  bool use_proxy = true;              ///< false: none, whatever the environment says
  std::string proxy{};                ///< empty: http_proxy, https_proxy and no_proxy
  int64_t bandwidth_bytes_per_s = 0;  ///< of all transfers, both ways together; 0: no cap
  std::string user_agent = "assay";
};

inline constexpr int kDefaultIoThreads = 2;
inline constexpr int kMaxIoThreads = 64;
/// The slowest that a body may come.
inline constexpr double kMinBytesPerSecond = 1024;
/// Of a 2xx answer that is kept in Response::body. The longest pages of lists that stores answer with have a quarter.
inline constexpr int64_t kMaxKeptBytes = 32 << 20;
/// Of an answer of any other status: its text is for a line of an error. What comes after is not read.
inline constexpr int64_t kMaxErrorBytes = 64 << 10;
/// Of all header lines of an answer, interim ones and trailers included.
inline constexpr int64_t kMaxHeaderBytes = 256 << 10;

/// Why no whole answer came.
enum class TransportError {
  kNone,
  kResolve,  ///< the host's name is unknown
  kConnect,  ///< refused or unreachable
  kConnectTimeout,
  kProxy,       ///< the proxy's address is none that can be used
  kUnsendable,  ///< a header or the URL holds what ends it (FlawOf()); nothing was sent
  kTls,         ///< handshake or certificate
  kReset,       ///< the connection ended before an answer, or while a body was being sent
  kTruncated,   ///< the body ended before its announced length
  kStall,       ///< ClientOptions::stall_timeout_seconds
  kTimeout,     ///< total_timeout_seconds
  kProtocol,    ///< not HTTP, or a URL that cannot be requested
  kTooLarge,    ///< more than kMaxKeptBytes or kMaxHeaderBytes
  kRejected,    ///< the sink refused the body; `Outcome::detail` holds its message
  kCancelled,
};
std::string_view NameOf(TransportError error);

/// A request with what belongs to it. Source and sink are not owned and must live until the callback has run.
struct Transfer {
  Request request;
  BodySource* source = nullptr;      ///< null: Request::body
  BodySink* sink = nullptr;          ///< null: Response::body
  double total_timeout_seconds = 0;  ///< 0: the client's
};

struct Outcome {
  TransportError error = TransportError::kNone;
  std::string detail;  ///< one line, for an error
  Response response;   ///< valid when `error` is kNone; else what had come

  bool ok() const { return error == TransportError::kNone; }
};

using TransferId = uint64_t;

/// All members may be called from any thread; Start and Cancel also from a callback. A transfer goes to the I/O thread
/// that has the fewest, the first of those; each starts with its first. A request with a flaw (FlawOf()) is never sent.
/// HTTP/1.1 only, no redirects followed, nothing added to the request but Host, User-Agent and Content-Length. A
/// request on a kept connection that ends before a byte of the answer is sent again on another: a server may have
/// carried it out twice, and the answer is the second's.
class Client {
 public:
  /// Runs on an I/O thread, once a transfer; must not block.
  using Callback = std::function<void(Outcome)>;

  explicit Client(ClientOptions options = {});
  /// Cancels what is in progress; every callback has run when it returns.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  TransferId Start(Transfer transfer, Callback callback);
  /// Ends an transfer early: its callback comes with kCancelled, or with the outcome if that was there first. Until the
  /// callback has run, memory of the transfer may still be written.
  void Cancel(TransferId id);

  /// Starts an transfer and waits for its outcome. Not from a callback.
  Outcome Run(Transfer transfer);
  /// Likewise, for callers that need no more than an answer: transport failures become one line of ErrorCode::kIo.
  Result<Response> Fetch(Request request);

  const ClientOptions& options() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace assay::http
