#include "http/wire/wire_engine.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <iterator>
#include <thread>
#include <utility>

#include "base/text.h"

namespace assay::http {
namespace {

constexpr int kEventBatch = 64;
constexpr double kIdleSeconds = 60;
/// Without what would wake it.
constexpr std::chrono::milliseconds kBlindPause{20};
/// Checks go over all transfers: no more often than this.
constexpr double kCheckSeconds = 0.01;
/// Servers and what stands before them forget connections that are idle for longer.
constexpr double kKeptSeconds = 118;

void Signal(int event) {
  const uint64_t one = 1;
  // A full counter wakes as well, so the result does not matter.
  [[maybe_unused]] const ssize_t written = ::write(event, &one, sizeof one);
}

Origin OriginOf(const Url& url) {
  Origin origin;
  origin.tls = url.scheme == "https";
  origin.host = url.host.starts_with('[') ? url.host.substr(1, url.host.size() - 2) : url.host;
  origin.port = url.port > 0 ? url.port : origin.tls ? 443 : 80;
  return origin;
}

}  // namespace

WireEngine::WireEngine(Shared& shared, AddressBook& addresses, TlsContext& tls, int max_kept_connections)
    : shared_(shared),
      max_kept_(static_cast<size_t>(max_kept_connections)),
      waker_(std::make_shared<Waker>(FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)))),
      dialing_{shared.options, addresses, tls,
               [waker = waker_] {
                 waker->names = true;
                 Signal(waker->event.get());
               }},
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      scratch_(kReceiveBytes) {
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, waker_->event.get(), &event);
}

WireEngine::~WireEngine() = default;

void WireEngine::Wake() {
  Signal(waker_->event.get());
}

void WireEngine::Begin(Job job) {
  WireJob wired;
  wired.job = std::move(job);
  wired.started = MonotonicSeconds();
  std::optional<Url> url = ParseUrl(wired.job.transfer.request.url);
  if (!url) {
    Outcome outcome;
    outcome.error = TransportError::kProtocol;
    outcome.detail = "the address is no http or https URL";
    wired.job.callback(std::move(outcome));
    return;
  }
  if (!epoll_.valid() || !waker_->event.valid()) {
    Outcome outcome;
    outcome.error = TransportError::kConnect;
    outcome.detail =
        "it got no file descriptor when it was made: let the program open more (ulimit -n), and begin anew";
    wired.job.callback(std::move(outcome));
    return;
  }
  wired.url = *std::move(url);
  ++shared_.received.transfers;
  const Origin origin = OriginOf(wired.url);
  WireConnection* idle = TakeIdle(origin);
  BeginOn(idle != nullptr ? *idle : MakeConnection(origin), std::move(wired));
}

void WireEngine::BeginOn(WireConnection& connection, WireJob job) {
  active_[job.job.id] = &connection;
  connection.Begin(std::move(job));
  if (connection.has_transfer()) {
    CheckBy(connection.DueAt());
  }
}

WireConnection& WireEngine::MakeConnection(const Origin& origin) {
  auto connection = std::make_unique<WireConnection>(*this, origin);
  WireConnection& made = *connection;
  connections_.emplace(&made, std::move(connection));
  return made;
}

WireConnection* WireEngine::TakeIdle(const Origin& origin) {
  const auto found = idle_.find(origin);
  if (found == idle_.end()) {
    return nullptr;
  }
  WireConnection* connection = found->second.back();
  found->second.pop_back();
  --idle_count_;
  if (found->second.empty()) {
    idle_.erase(found);
  }
  return connection;
}

void WireEngine::Keep(WireConnection& connection) {
  idle_[connection.origin()].push_back(&connection);
  ++idle_count_;
  if (idle_count_ > max_kept_) {
    CloseOldestIdle();
  }
}

void WireEngine::CloseOldestIdle() {
  WireConnection* oldest = nullptr;
  for (const auto& [origin, connections] : idle_) {
    if (oldest == nullptr || connections.front()->moved_at() < oldest->moved_at()) {
      oldest = connections.front();
    }
  }
  Gone(*oldest);
}

void WireEngine::Gone(WireConnection& connection) {
  const auto found = idle_.find(connection.origin());
  std::erase(found->second, &connection);
  --idle_count_;
  if (found->second.empty()) {
    idle_.erase(found);
  }
  Bury(connection);
}

void WireEngine::Bury(WireConnection& connection) {
  std::erase(again_, &connection);
  const auto found = connections_.find(&connection);
  buried_.push_back(std::move(found->second));
  connections_.erase(found);
}

void WireEngine::Watch(int socket, uint32_t events, WireConnection& connection) {
  epoll_event event{.events = events, .data = {.ptr = &connection}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket, &event) != 0 && errno == ENOENT) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event);
  }
}

void WireEngine::Again(WireConnection& connection) {
  if (std::ranges::find(again_, &connection) == again_.end()) {
    again_.push_back(&connection);
  }
}

void WireEngine::Finished(WireConnection& connection, WireJob job, Outcome outcome) {
  active_.erase(job.job.id);
  --shared_.received.transfers;
  if (connection.usable()) {
    Keep(connection);
  } else {
    Bury(connection);
  }
  job.job.callback(std::move(outcome));
}

void WireEngine::Restart(WireConnection& connection, WireJob job) {
  Bury(connection);
  BeginOn(MakeConnection(connection.origin()), std::move(job));
}

bool WireEngine::Cancel(TransferId id) {
  const auto found = active_.find(id);
  if (found == active_.end()) {
    return false;
  }
  found->second->Cancel();
  return true;
}

void WireEngine::CancelAll() {
  while (!active_.empty()) {
    active_.begin()->second->Cancel();
  }
  buried_.clear();
}

/// How long to wait for sockets. Under a cap, lets the transfer go on that has waited longest: none starves.
double WireEngine::ShareBandwidth() {
  if (shared_.bucket.unlimited()) {
    return kIdleSeconds;
  }
  WireConnection* longest = nullptr;
  for (const auto& [id, connection] : active_) {
    const double since = connection->paused_since();
    if (since > 0 && (longest == nullptr || since < longest->paused_since())) {
      longest = connection;
    }
  }
  if (longest == nullptr) {
    return kIdleSeconds;
  }
  if (const double wait = shared_.bucket.WaitSeconds(MonotonicSeconds()); wait > 0) {
    return wait;
  }
  longest->Resume();
  return 0;
}

void WireEngine::HandleEvents(double limit_seconds) {
  if (!epoll_.valid() || !waker_->event.valid()) {
    std::this_thread::sleep_for(kBlindPause);
    return;
  }
  epoll_event events[kEventBatch];
  const int milliseconds = limit_seconds <= 0 ? 0 : static_cast<int>(std::ceil(limit_seconds * 1000));
  const int count = epoll_wait(epoll_.get(), events, kEventBatch, milliseconds);
  for (int i = 0; i < count; ++i) {
    auto* connection = static_cast<WireConnection*>(events[i].data.ptr);
    if (connection == nullptr) {
      uint64_t wakes;
      [[maybe_unused]] const ssize_t got = ::read(waker_->event.get(), &wakes, sizeof wakes);
    } else if (connections_.contains(connection)) {
      connection->Proceed(events[i].events);
    }
  }
}

void WireEngine::Check(double now) {
  check_at_ = now + kIdleSeconds;
  std::vector<WireConnection*> active;
  for (const auto& [id, connection] : active_) {
    active.push_back(connection);
  }
  for (WireConnection* connection : active) {
    if (connections_.contains(connection) && connection->has_transfer()) {
      connection->Check(now);
    }
  }
  for (const auto& [id, connection] : active_) {
    CheckBy(connection->DueAt());
  }
  check_at_ = std::max(check_at_, now + kCheckSeconds);
  std::vector<WireConnection*> old;
  for (const auto& [origin, connections] : idle_) {
    std::ranges::copy_if(connections, std::back_inserter(old),
                         [now](const WireConnection* each) { return each->moved_at() + kKeptSeconds < now; });
  }
  for (WireConnection* connection : old) {
    Gone(*connection);
  }
}

void WireEngine::RunOnce() {
  double wait = ShareBandwidth();
  wait = std::min(wait, check_at_ - MonotonicSeconds());
  HandleEvents(again_.empty() ? wait : 0);
  if (waker_->names.exchange(false)) {
    std::vector<WireConnection*> waiting;
    for (const auto& [id, connection] : active_) {
      if (connection->is_resolving()) {
        waiting.push_back(connection);
      }
    }
    for (WireConnection* connection : waiting) {
      connection->Proceed(0);
    }
  }
  for (WireConnection* connection : std::exchange(again_, {})) {
    if (connections_.contains(connection)) {
      connection->Proceed(0);
    }
  }
  if (const double now = MonotonicSeconds(); now >= check_at_) {
    Check(now);
  }
  buried_.clear();
}

}  // namespace assay::http
