#include "http/wire/dialer.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace assay::http {
namespace {

/// Of an address in the first round.
constexpr double kHurrySeconds = 1;

double UntilOf(const ClientOptions& options, double now) {
  return options.connect_timeout_seconds > 0 ? now + options.connect_timeout_seconds
                                             : std::numeric_limits<double>::infinity();
}

FileDescriptor OpenSocket(int family) {
  FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (socket.valid()) {
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  }
  return socket;
}

}  // namespace

Dialer::Dialer(const Dialing& dialing, const Origin& origin, double now)
    : dialing_(dialing), origin_(origin), until_(UntilOf(dialing.options, now)), wake_at_(until_) {}

Dialer::~Dialer() {
  if (address_) {
    dialing_.addresses.Release(origin_.host, origin_.port, *address_);
  }
}

std::pair<std::unique_ptr<Channel>, Address> Dialer::TakeChannel() {
  return {std::move(channel_), *std::exchange(address_, std::nullopt)};
}

int Dialer::socket() const {
  return channel_ ? channel_->socket() : socket_.get();
}

void Dialer::Fail(TransportError error, std::string detail) {
  state_ = State::kFailed;
  error_ = error;
  detail_ = std::move(detail);
}

void Dialer::Proceed(double now) {
  if (now >= until_) {
    PassOver();
    const std::string why = last_why_.empty() ? "" : " (" + last_why_ + ")";
    return Fail(TransportError::kConnectTimeout,
                fmt::format("no connection to {} port {} within {} seconds{}", origin_.host, origin_.port,
                            dialing_.options.connect_timeout_seconds, why));
  }
  if (state_ == State::kResolving) {
    Resolve(now);
  }
  if (state_ == State::kConnecting) {
    Connect(now);
  }
  if (state_ == State::kGreeting) {
    Greet();
  }
}

void Dialer::Resolve(double now) {
  std::string error;
  switch (dialing_.addresses.Ask(origin_.host, origin_.port, dialing_.wake, error)) {
    case AddressBook::State::kPending:
      return;
    case AddressBook::State::kFailed:
      return Fail(TransportError::kResolve, fmt::format("the host {} is not known: {}", origin_.host, error));
    case AddressBook::State::kKnown:
      state_ = State::kConnecting;
      TryNext(now);
  }
}

/// Opens a socket to the next address that lets itself be connected to, or at least not at once refuses it.
void Dialer::TryNext(double now) {
  while (true) {
    address_ = dialing_.addresses.Take(origin_.host, origin_.port, tried_);
    if (!address_ && std::exchange(first_round_, false) && std::exchange(timed_out_, false)) {
      tried_.clear();
      continue;
    }
    if (!address_) {
      return Fail(TransportError::kConnect,
                  fmt::format("no connection to {} port {}: {}", origin_.host, origin_.port, last_why_));
    }
    tried_.push_back(*address_);
    if (Open(now) || state_ == State::kFailed) {
      return;
    }
  }
}

bool Dialer::Open(double now) {
  socket_ = OpenSocket(address_->family());
  if (!socket_.valid() && errno != EAFNOSUPPORT) {
    const std::string more = errno == EMFILE ? ", let the program open more files (ulimit -n)" : "";
    Fail(TransportError::kConnect, fmt::format("no socket can be opened: {}{}", std::strerror(errno), more));
    return false;
  }
  const int connected = RetryOnSignal(
      [&] { return ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address_->socket), address_->size); });
  if (connected != 0 && errno != EINPROGRESS) {
    GiveUpAddress(std::strerror(errno));
    return false;
  }
  wanted_ = EPOLLOUT;
  tried_since_ = now;
  const bool alone = dialing_.addresses.Count(origin_.host, origin_.port) == 1;
  const double left = until_ - now;
  wake_at_ = alone ? until_ : now + (first_round_ ? std::min(kHurrySeconds, left / 2) : left / 2);
  return true;
}

void Dialer::PassOver() {
  if (address_) {
    dialing_.addresses.PassOver(origin_.host, origin_.port, *address_);
  }
}

void Dialer::GiveUp() {
  if (address_) {
    dialing_.addresses.Unanswered(origin_.host, origin_.port, *address_, tried_since_);
  }
}

void Dialer::GiveUpAddress(std::string why) {
  last_why_ = std::move(why);
  socket_.Reset();
  PassOver();
  dialing_.addresses.Release(origin_.host, origin_.port, *address_);
  address_.reset();
}

void Dialer::Connect(double now) {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  sockaddr_storage peer = {};
  socklen_t peer_size = sizeof(peer);
  if (error == 0 && ::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0) {
    std::string why;
    channel_ = origin_.tls ? dialing_.tls.Wrap(std::move(socket_), origin_.host, why)
                           : std::make_unique<PlainChannel>(std::move(socket_));
    if (channel_ == nullptr) {
      return Fail(TransportError::kTls, why);
    }
    state_ = State::kGreeting;
    wake_at_ = until_;
  } else if (error != 0) {
    GiveUpAddress(std::strerror(error));
    TryNext(now);
  } else if (now >= wake_at_) {
    timed_out_ = true;
    GiveUpAddress("it does not answer");
    TryNext(now);
  }
}

void Dialer::Greet() {
  const Channel::Step step = channel_->Greet();
  switch (step.outcome) {
    case Channel::Outcome::kMoved:
      state_ = State::kDone;
      return;
    case Channel::Outcome::kWantRead:
      wanted_ = EPOLLIN;
      return;
    case Channel::Outcome::kWantWrite:
      wanted_ = EPOLLOUT;
      return;
    case Channel::Outcome::kRefused:
      PassOver();
      return Fail(TransportError::kTls, channel_->error());
    case Channel::Outcome::kClosed:
    case Channel::Outcome::kBroken:
    case Channel::Outcome::kUnreadable:
      PassOver();
      return Fail(TransportError::kReset, channel_->error());
  }
}

}  // namespace assay::http
