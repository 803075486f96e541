#include "http/tls_channel.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "http/authorities.h"

namespace assay::http {
namespace {

constexpr size_t kRecordBytes = 16 << 10;
/// Of a file, at a time.
constexpr size_t kFileBytes = 64 << 10;
/// What is received from the socket at a time.
constexpr size_t kReceiveBytes = 128 << 10;
/// Ten rounds a block, where 256 bits take fourteen (FIPS 197).
constexpr std::string_view kFirstSuite = "TLS_AES_128_GCM_SHA256";

std::string OpenSslError(std::string_view otherwise) {
  const unsigned long code = ERR_get_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason != nullptr ? reason : std::string(otherwise);
}

/// Of TLS 1.3, where the system's policy has it.
void PutFirst(std::string_view suite, SSL_CTX* context) {
  std::string first;
  std::string others;
  const STACK_OF(SSL_CIPHER)* all = SSL_CTX_get_ciphers(context);
  for (int i = 0; i < sk_SSL_CIPHER_num(all); ++i) {
    const SSL_CIPHER* cipher = sk_SSL_CIPHER_value(all, i);
    if (SSL_CIPHER_get_name(cipher) == suite) {
      first = suite;
    } else if (SSL_CIPHER_get_version(cipher) == std::string_view("TLSv1.3")) {
      others += std::string(":") + SSL_CIPHER_get_name(cipher);
    }
  }
  if (!first.empty() && SSL_CTX_set_ciphersuites(context, (first + others).c_str()) != 1) {
    ERR_clear_error();  // the order stays as it was
  }
}

SSL_CTX* NewContext(const SSL_METHOD* method) {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(method);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  PutFirst(kFirstSuite, context);
  return context;
}

bool IsNumber(const std::string& host) {
  in6_addr address;
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 || ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

int TlsChannel::WriteSocket(BIO* bio, const char* data, int bytes) {
  const auto* channel = static_cast<TlsChannel*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (channel->more_ ? MSG_MORE : 0);
  const ssize_t count =
      RetryOnSignal([&] { return ::send(channel->socket(), data, static_cast<size_t>(bytes), flags); });
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(count);
}

ssize_t TlsChannel::Refill() {
  if (!buffer_) {
    buffer_ = std::make_unique_for_overwrite<char[]>(kReceiveBytes);
  }
  const ssize_t count = RetryOnSignal([&] { return ::recv(socket(), buffer_.get(), kReceiveBytes, MSG_DONTWAIT); });
  received_ = {buffer_.get(), static_cast<size_t>(std::max<ssize_t>(count, 0))};
  return count;
}

int TlsChannel::ReadSocket(BIO* bio, char* data, int bytes) {
  auto* channel = static_cast<TlsChannel*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (channel->received_.empty()) {
    const ssize_t count = channel->Refill();
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      BIO_set_retry_read(bio);
    }
    if (count <= 0) {
      return static_cast<int>(count);
    }
  }
  const size_t taken = channel->received_.copy(data, static_cast<size_t>(bytes));
  channel->received_.remove_prefix(taken);
  return static_cast<int>(taken);
}

/// The one of OpenSSL would have a peer that has gone end the program (SIGPIPE), and knows no MSG_MORE.
BIO_METHOD* TlsChannel::SocketMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(made, &TlsChannel::WriteSocket);
    BIO_meth_set_read(made, &TlsChannel::ReadSocket);
    BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH ? 1 : 0; });
    return made;
  }();
  return method;
}

TlsChannel::TlsChannel(FileDescriptor socket, SSL_CTX* context, std::string peer)
    : Channel(std::move(socket)), peer_(std::move(peer)), ssl_(SSL_new(context)) {
  BIO* bio = BIO_new(SocketMethod());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_is_server(ssl_.get()) == 1 ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
}

TlsChannel::~TlsChannel() {
  HangUp();
}

bool TlsChannel::ExpectPeer(const std::string& host) {
  if (IsNumber(host)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host.c_str()) == 1;
  }
  SSL_set_hostflags(ssl_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) == 1 && SSL_set1_host(ssl_.get(), host.c_str()) == 1;
}

Channel::Step TlsChannel::StepOf(int result) {
  if (result > 0) {
    return {Outcome::kMoved, static_cast<size_t>(result)};
  }
  const int system_error = errno;
  const int code = SSL_get_error(ssl_.get(), result);
  if (code == SSL_ERROR_WANT_READ) {
    return {Outcome::kWantRead, 0};
  }
  if (code == SSL_ERROR_WANT_WRITE) {
    return {Outcome::kWantWrite, 0};
  }
  if (code == SSL_ERROR_ZERO_RETURN) {
    return {Outcome::kClosed, 0};
  }
  failed_ = true;
  errno = system_error;
  return Explain(code);
}

Channel::Step TlsChannel::Explain(int code) {
  const bool cut = ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  if (code == SSL_ERROR_SYSCALL && errno != 0 && !cut) {
    return Fail(Outcome::kBroken, std::strerror(errno));
  }
  if (code == SSL_ERROR_SYSCALL || cut) {
    ERR_clear_error();
    return Fail(Outcome::kBroken, "the connection was cut without the end that TLS has");
  }
  const long verdict = SSL_get_verify_result(ssl_.get());
  if (!greeted_ && verdict != X509_V_OK && SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE) {
    ERR_clear_error();
    return Fail(Outcome::kRefused,
                "the certificate of " + peer_ + " is refused: " + X509_verify_cert_error_string(verdict));
  }
  return Fail(greeted_ ? Outcome::kBroken : Outcome::kRefused, "TLS with " + peer_ + ": " + OpenSslError("it failed"));
}

Channel::Step TlsChannel::Greet() {
  ERR_clear_error();
  errno = 0;
  const Step step = StepOf(SSL_do_handshake(ssl_.get()));
  greeted_ = step.outcome == Outcome::kMoved;
  return step;
}

Channel::Step TlsChannel::Receive(std::span<std::byte> into) {
  if (end_) {
    return *end_;
  }
  ERR_clear_error();
  errno = 0;
  size_t received = 0;
  Step step;
  while (received < into.size() && step.outcome == Outcome::kMoved) {
    const auto most = static_cast<int>(std::min<size_t>(into.size() - received, INT_MAX));
    step = StepOf(SSL_read(ssl_.get(), into.data() + received, most));
    received += step.bytes;
  }
  if (step.outcome != Outcome::kMoved && step.outcome != Outcome::kWantRead && step.outcome != Outcome::kWantWrite) {
    end_ = step;
  }
  return received > 0 ? Step{Outcome::kMoved, received} : step;
}

size_t TlsChannel::SendPiece(std::span<const std::byte> piece, bool more, Step& step) {
  size_t sent = 0;
  while (sent < piece.size() && step.outcome == Outcome::kMoved) {
    const size_t left = piece.size() - sent;
    more_ = more || left > kRecordBytes;
    step = StepOf(SSL_write(ssl_.get(), piece.data() + sent, static_cast<int>(std::min<size_t>(left, INT_MAX))));
    sent += step.bytes;
  }
  return sent;
}

Channel::Step TlsChannel::Send(Pieces pieces, bool more) {
  ERR_clear_error();
  errno = 0;
  Step step;
  size_t sent = 0;
  for (size_t i = 0; i < pieces.size() && step.outcome == Outcome::kMoved; ++i) {
    sent += SendPiece(pieces[i], more || i + 1 < pieces.size(), step);
  }
  return sent > 0 ? Step{Outcome::kMoved, sent} : step;
}

Channel::Step TlsChannel::SendFile(int file, int64_t offset, size_t count) {
  std::byte buffer[kFileBytes];
  const size_t most = std::min(count, sizeof(buffer));
  const ssize_t read = RetryOnSignal([&] { return ::pread(file, buffer, most, offset); });
  if (read < 0) {
    return Fail(Outcome::kBroken, std::strerror(errno));
  }
  const std::span<const std::byte> piece(buffer, static_cast<size_t>(read));
  return read == 0 ? Step{} : Send(std::span(&piece, 1), piece.size() < count);
}

void TlsChannel::HangUp() {
  if (greeted_ && !failed_) {
    more_ = false;
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }
  ::shutdown(socket(), SHUT_WR);
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

std::string TlsContext::Make() {
  context_ = NewContext(TLS_client_method());
  constexpr unsigned char kHttp[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context_, kHttp, sizeof(kHttp) - 1);
  if (!options_.verify_tls) {
    return "";
  }
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  const Authorities authorities = AuthoritiesOf(options_);
  const char* file = authorities.file.empty() ? nullptr : authorities.file.c_str();
  const char* folder = authorities.folder.empty() ? nullptr : authorities.folder.c_str();
  const int loaded = file == nullptr && folder == nullptr ? SSL_CTX_set_default_verify_paths(context_)
                                                          : SSL_CTX_load_verify_locations(context_, file, folder);
  if (loaded == 1) {
    return "";
  }
  const std::string why = OpenSslError("it holds no certificate");
  SSL_CTX_free(std::exchange(context_, nullptr));
  return "the certificate authorities in " + authorities.file + " cannot be read: " + why;
}

std::unique_ptr<Channel> TlsContext::Wrap(FileDescriptor socket, const std::string& host, std::string& error) {
  const std::lock_guard lock(mutex_);
  if (context_ == nullptr) {
    error = Make();
  }
  if (context_ == nullptr) {
    return nullptr;
  }
  auto channel = std::make_unique<TlsChannel>(std::move(socket), context_, host);
  if (!channel->ExpectPeer(host)) {
    error = "no certificate can be for " + host + ": " + OpenSslError("its name is none");
    return nullptr;
  }
  return channel;
}

Result<std::unique_ptr<TlsServerContext>> TlsServerContext::Make(const std::string& certificate_file,
                                                                 const std::string& key_file) {
  std::unique_ptr<TlsServerContext> made(new TlsServerContext(NewContext(TLS_server_method())));
  if (SSL_CTX_use_certificate_chain_file(made->context_, certificate_file.c_str()) != 1) {
    return Status::InvalidArgument("cannot use the certificate in " + certificate_file + ": " +
                                   OpenSslError("it is no PEM file"));
  }
  if (SSL_CTX_use_PrivateKey_file(made->context_, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Status::InvalidArgument("cannot use the key in " + key_file + " for the certificate in " + certificate_file +
                                   ": " + OpenSslError("it is no PEM file"));
  }
  return made;
}

TlsServerContext::~TlsServerContext() {
  SSL_CTX_free(context_);
}

std::unique_ptr<Channel> TlsServerContext::Wrap(FileDescriptor socket) const {
  return std::make_unique<TlsChannel>(std::move(socket), context_, "a client");
}

}  // namespace assay::http
