// TLS over a connected socket, by OpenSSL.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/channel.h"
#include "http/client.h"

namespace assay::http {

/// Wraps a connection that stands; Greet() is the handshake. Records are sent with MSG_MORE while others follow, so
/// that they fill the network's packets, and are received many at a time: by this, not by OpenSSL, which moves all that
/// it has read ahead with each record that it takes.
class TlsChannel : public Channel {
 public:
  /// On the side that `context` is made for. `peer`: whom errors speak of.
  TlsChannel(FileDescriptor socket, SSL_CTX* context, std::string peer);
  /// Says goodbye.
  ~TlsChannel() override;

  /// Of a client, before Greet(): who the peer must be, by name or by number. False: that is neither.
  [[nodiscard]] bool ExpectPeer(const std::string& host);

  Step Greet() override;
  Step Receive(std::span<std::byte> into) override;
  Step Send(Pieces pieces, bool more) override;
  Step SendFile(int file, int64_t offset, size_t count) override;
  void HangUp() override;
  bool holds_received() const override { return !received_.empty() || SSL_has_pending(ssl_.get()) == 1; }

 private:
  static BIO_METHOD* SocketMethod();
  static int WriteSocket(BIO* bio, const char* data, int bytes);
  static int ReadSocket(BIO* bio, char* data, int bytes);

  /// More from the socket, when nothing is left; as recv().
  ssize_t Refill();
  Step StepOf(int result);
  Step Explain(int code);
  /// How many bytes went; `step` says why no more did.
  size_t SendPiece(std::span<const std::byte> piece, bool more, Step& step);

  const std::string peer_;
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  std::unique_ptr<SSL, Free> ssl_;
  std::unique_ptr<char[]> buffer_;
  std::string_view received_;  ///< the part of `buffer_` that OpenSSL has not had yet
  bool more_ = false;          ///< of the record that is sent
  bool greeted_ = false;
  bool failed_ = false;
  std::optional<Step> end_;  ///< of what can be received; told once all that came before it has been
};

/// What the TLS connections of a client have together; made with the first. Any thread may call.
class TlsContext {
 public:
  explicit TlsContext(const ClientOptions& options) : options_(options) {}
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// A connection to `host`. Its certificate is verified as libcurl does: against ClientOptions::ca_file, or the
  /// authorities that libcurl was built with, and for that name or number. Null: `error` says why there is none.
  std::unique_ptr<Channel> Wrap(FileDescriptor socket, const std::string& host, std::string& error);

 private:
  std::string Make();

  const ClientOptions& options_;
  std::mutex mutex_;
  SSL_CTX* context_ = nullptr;  // guarded by mutex_
};

/// What the connections of a server have together. Any thread may call.
class TlsServerContext {
 public:
  /// A chain of certificates and its key, both PEM; a file that cannot be used, or a key that is another's, is one
  /// line.
  static Result<std::unique_ptr<TlsServerContext>> Make(const std::string& certificate_file,
                                                        const std::string& key_file);
  ~TlsServerContext();
  TlsServerContext(const TlsServerContext&) = delete;
  TlsServerContext& operator=(const TlsServerContext&) = delete;

  std::unique_ptr<Channel> Wrap(FileDescriptor socket) const;

 private:
  explicit TlsServerContext(SSL_CTX* context) : context_(context) {}

  SSL_CTX* const context_;
};

}  // namespace assay::http
