#include "http/server.h"

#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "http/server_loop.h"

namespace assay::http {
namespace {

constexpr size_t kWholeBodyStep = 64 << 10;

/// Collects the body as text.
class TextBodyExchange : public Exchange {
 public:
  TextBodyExchange(BodyHandler handler, size_t max_bytes) : handler_(std::move(handler)), max_bytes_(max_bytes) {}

  std::span<std::byte> BodyMemory(size_t most) override {
    if (size_ >= max_bytes_) {
      too_large_ = true;
      return {};
    }
    body_.resize(size_ + std::min(most, kWholeBodyStep));
    return std::as_writable_bytes(std::span(body_)).subspan(size_);
  }
  void BodyReceived(size_t count) override { size_ += count; }
  ServerResponse Finish(const Headers&) override {
    if (too_large_) {
      return TextResponse(413, "the request's body is too large");
    }
    return handler_(std::string_view(body_).substr(0, size_));
  }

 private:
  const BodyHandler handler_;
  const size_t max_bytes_;
  std::string body_;
  size_t size_ = 0;
  bool too_large_ = false;
};

class ReadyResponseExchange : public Exchange {
 public:
  explicit ReadyResponseExchange(ServerResponse response) : response_(std::move(response)) {}
  bool wants_body() const override { return false; }
  std::span<std::byte> BodyMemory(size_t) override { return {}; }
  void BodyReceived(size_t) override {}
  ServerResponse Finish(const Headers&) override { return std::move(response_); }

 private:
  ServerResponse response_;
};

struct AddressList {
  explicit AddressList(addrinfo* list) : first(list) {}
  AddressList(const AddressList&) = delete;
  AddressList& operator=(const AddressList&) = delete;
  ~AddressList() {
    if (first != nullptr) {
      ::freeaddrinfo(first);
    }
  }
  addrinfo* first;
};

/// Thousands of connections need as many descriptors.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

std::string UrlOf(std::string_view scheme, const std::string& host, int port) {
  const bool ipv6 = host.find(':') != std::string::npos;
  return std::string(scheme) + "://" + (ipv6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

Result<FileDescriptor> Listen(const std::string& host, int port) {
  const std::string address = host + " port " + std::to_string(port);
  if (port < 0 || port > 65535) {
    return Status::InvalidArgument("cannot listen on " + address + ": a port lies between 0 and 65535");
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  const AddressList addresses(failure == 0 ? list : nullptr);
  if (failure != 0) {
    return Status::InvalidArgument("cannot listen on " + address + ": " + ::gai_strerror(failure));
  }
  FileDescriptor listener(::socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Each connection has what this socket has. Left to itself the kernel lets tens of MiB wait on each.
  constexpr int kReceiveBufferBytes = 512 << 10;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof(kReceiveBufferBytes));
  if (listener.valid() && ::bind(listener.get(), list->ai_addr, list->ai_addrlen) == 0 &&
      ::listen(listener.get(), SOMAXCONN) == 0) {
    return listener;
  }
  const int error = errno;
  if (error == EADDRINUSE) {
    return Status::InvalidArgument("cannot listen on " + address +
                                   ": the port is in use (choose another, or 0 for any free one)");
  }
  if (error == EADDRNOTAVAIL) {
    return Status::InvalidArgument("cannot listen on " + address + ": the address is not one of this machine's");
  }
  return ErrnoStatus(error, "listen on", address);
}

int PortOf(int listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  char port[NI_MAXSERV] = "0";
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, nullptr, 0, port, sizeof(port), NI_NUMERICSERV);
  return std::atoi(port);
}

int ThreadCount(int asked) {
  return asked > 0 ? asked : std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 8);
}

/// sendfile has no flag against SIGPIPE, and interrupts belong to the program's own thread.
void BlockSignals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

std::unique_ptr<Exchange> TextExchange(BodyHandler handler, size_t max_body_bytes) {
  return std::make_unique<TextBodyExchange>(std::move(handler), max_body_bytes);
}

ExchangeFactory WholeBody(TextHandler handler, size_t max_body_bytes) {
  const auto shared = std::make_shared<const TextHandler>(std::move(handler));
  return [shared, max_body_bytes](RequestHead head) {
    return TextExchange([shared, head = std::move(head)](std::string_view body) { return (*shared)(head, body); },
                        max_body_bytes);
  };
}

std::unique_ptr<Exchange> ReadyExchange(ServerResponse response) {
  return std::make_unique<ReadyResponseExchange>(std::move(response));
}

struct Server::State {
  ServerShared shared;
  FileDescriptor listener;
  int port = 0;
  std::string url;
  std::vector<std::unique_ptr<ServerLoop>> loops;
  std::vector<std::thread> threads;
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  Stop();
}

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, ExchangeFactory factory) {
  auto state = std::make_unique<State>();
  ASSAY_ASSIGN_OR_RETURN(state->listener, Listen(options.host, options.port));
  RaiseDescriptorLimit();
  state->port = PortOf(state->listener.get());
  const bool tls = !options.tls_certificate_file.empty() || !options.tls_key_file.empty();
  if (tls) {
    ASSAY_ASSIGN_OR_RETURN(state->shared.tls,
                           TlsServerContext::Make(options.tls_certificate_file, options.tls_key_file));
  }
  state->url = UrlOf(tls ? "https" : "http", options.host, state->port);
  state->shared.options = options;
  state->shared.factory = std::move(factory);
  if (options.network.total_bytes_per_s > 0) {
    state->shared.upload_pacer = std::make_unique<Pacer>(options.network.total_bytes_per_s);
    state->shared.download_pacer = std::make_unique<Pacer>(options.network.total_bytes_per_s);
  }
  for (int i = 0; i < ThreadCount(options.threads); ++i) {
    state->loops.push_back(std::make_unique<ServerLoop>(state->shared));
    ASSAY_RETURN_IF_ERROR(state->loops.back()->Open());
  }
  for (size_t i = 0; i < state->loops.size(); ++i) {
    state->threads.emplace_back(
        [loop = state->loops[i].get(), listener = i == 0 ? state->listener.get() : -1, &loops = state->loops] {
          BlockSignals();
          loop->Run(listener, loops);
        });
  }
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

int Server::port() const {
  return state_->port;
}

const std::string& Server::url() const {
  return state_->url;
}

const ServerStats& Server::stats() const {
  return state_->shared.stats;
}

void Server::Stop() {
  for (const auto& loop : state_->loops) {
    loop->Stop();
  }
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
  state_->threads.clear();
  state_->listener.Reset();
}

}  // namespace assay::http
