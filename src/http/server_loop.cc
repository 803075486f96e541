#include "http/server_loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <utility>

#include "base/text.h"

namespace assay::http {
namespace {

constexpr size_t kScratchBytes = 256 << 10;
constexpr uint64_t kWakeId = 0;
constexpr uint64_t kListenerId = 1;
constexpr uint64_t kFirstConnectionId = 2;
constexpr double kMaxIdleCheckSeconds = 1;
constexpr double kAcceptPauseSeconds = 0.05;
constexpr int kAcceptsAtOnce = 64;
/// One in so many of those that wait for their clients ends where others need their places.
constexpr size_t kShareOfWaiting = 8;
constexpr double kShortestWaitSeconds = 0.2;

void AddToEpoll(int epoll, int fd, uint64_t id, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = id;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

ServerLoop::ServerLoop(ServerShared& shared) : shared_(shared), scratch_(kScratchBytes), next_id_(kFirstConnectionId) {}

Status ServerLoop::Open() {
  epoll_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_event_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_.valid() || !wake_event_.valid()) {
    return ErrnoStatus(errno, "start", "a server's event loop");
  }
  AddToEpoll(epoll_.get(), wake_event_.get(), kWakeId, EPOLLIN);
  return Status::Ok();
}

void ServerLoop::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_event_.get(), &one, sizeof(one));
}

void ServerLoop::Adopt(FileDescriptor socket) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(socket));
  }
  Wake();
}

void ServerLoop::WakeConnection(uint64_t connection_id) {
  {
    const std::lock_guard lock(mutex_);
    woken_.push_back(connection_id);
  }
  Wake();
}

void ServerLoop::MakeRoom() {
  make_room_ = true;
  Wake();
}

void ServerLoop::Stop() {
  stop_ = true;
  Wake();
}

void ServerLoop::Run(int listener, const std::vector<std::unique_ptr<ServerLoop>>& peers) {
  constexpr int kMaxEvents = 256;
  epoll_event events[kMaxEvents];
  listener_ = listener;
  peers_ = &peers;
  if (listener_ >= 0) {
    AddToEpoll(epoll_.get(), listener_, kListenerId, EPOLLIN);
  }
  now_ = MonotonicSeconds();
  while (!stop_) {
    const int count = ::epoll_wait(epoll_.get(), events, kMaxEvents, TimeoutMilliseconds());
    now_ = MonotonicSeconds();
    for (int i = 0; i < count; ++i) {
      OnEvent(events[i].data.u64, events[i].events);
    }
    RunTimers();
    CloseIdle();
  }
  connections_.clear();
}

int ServerLoop::TimeoutMilliseconds() const {
  double until = idle_check_at_;
  if (!timers_.empty()) {
    until = std::min(until, timers_.top().time);
  }
  return static_cast<int>(std::clamp(std::ceil((until - MonotonicSeconds()) * 1000), 0.0, 1000.0));
}

void ServerLoop::OnEvent(uint64_t id, uint32_t events) {
  if (id == kWakeId) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_event_.get(), &count, sizeof(count));
    AdoptWaiting();
    WakeWaiting();
    if (make_room_.exchange(false)) {
      CloseLongestWaiting();
    }
    return;
  }
  if (id == kListenerId) {
    return AcceptSome();
  }
  if (const auto found = connections_.find(id); found != connections_.end()) {
    found->second->OnEvents(events);
    DropIfClosed(id);
  }
}

void ServerLoop::AcceptSome() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    if (shared_.stats.connections_open.load(std::memory_order_relaxed) >= shared_.options.max_connections) {
      return BeFull();
    }
    FileDescriptor socket(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        PauseAccepting();
      }
      return;
    }
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    shared_.stats.connections_accepted.fetch_add(1, std::memory_order_relaxed);
    shared_.stats.connections_open.fetch_add(1, std::memory_order_relaxed);
    (*peers_)[next_peer_++ % peers_->size()]->Adopt(std::move(socket));
  }
}

void ServerLoop::BeFull() {
  if (shared_.options.idle_make_room) {
    std::ranges::for_each(*peers_, [](const auto& peer) { peer->MakeRoom(); });
  }
  PauseAccepting();
}

/// A listener whose connections cannot be taken would be ready for ever.
void ServerLoop::PauseAccepting() {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_, nullptr);
  timers_.push({now_ + kAcceptPauseSeconds, kListenerId});
}

void ServerLoop::AdoptWaiting() {
  std::vector<FileDescriptor> sockets;
  {
    const std::lock_guard lock(mutex_);
    sockets.swap(waiting_);
  }
  for (FileDescriptor& socket : sockets) {
    const uint64_t id = next_id_++;
    const int fd = socket.get();
    connections_.emplace(id, std::make_unique<ServerConnection>(id, std::move(socket), *this));
    AddToEpoll(epoll_.get(), fd, id, 0);
    connections_[id]->OnEvents(EPOLLIN);  // a request may be there already
    DropIfClosed(id);
  }
}

void ServerLoop::WakeWaiting() {
  std::vector<uint64_t> woken;
  {
    const std::lock_guard lock(mutex_);
    woken.swap(woken_);
  }
  for (const uint64_t id : woken) {
    if (const auto found = connections_.find(id); found != connections_.end()) {
      found->second->OnWoken();
      DropIfClosed(id);
    }
  }
}

void ServerLoop::RunTimers() {
  // Those that are due now: what they set anew waits for the next round, so that no connection starves the others.
  std::vector<uint64_t> due;
  while (!timers_.empty() && timers_.top().time <= now_) {
    due.push_back(timers_.top().connection_id);
    timers_.pop();
  }
  for (const uint64_t id : due) {
    if (id == kListenerId) {
      AddToEpoll(epoll_.get(), listener_, kListenerId, EPOLLIN);
    } else if (const auto found = connections_.find(id); found != connections_.end()) {
      found->second->OnTimer();
      DropIfClosed(id);
    }
  }
}

void ServerLoop::CloseIdle() {
  if (now_ < idle_check_at_) {
    return;
  }
  const ServerOptions& options = shared_.options;
  const double shortest = std::min(options.idle_timeout_seconds, options.head_timeout_seconds);
  idle_check_at_ = now_ + std::min(kMaxIdleCheckSeconds, shortest / 4);
  std::erase_if(connections_, [&](const auto& entry) {
    ServerConnection& connection = *entry.second;
    return connection.HeadOpenSince(now_ - options.head_timeout_seconds) ||
           (connection.WaitingSince(now_ - options.idle_timeout_seconds) && !connection.TakeTrickle());
  });
}

void ServerLoop::CloseLongestWaiting() {
  std::vector<std::pair<double, uint64_t>> waiting;
  for (const auto& [id, connection] : connections_) {
    if (connection->WaitsForClient() && connection->active_at() < now_ - kShortestWaitSeconds) {
      waiting.emplace_back(connection->active_at(), id);
    }
  }
  const size_t count = (waiting.size() + kShareOfWaiting - 1) / kShareOfWaiting;
  std::ranges::partial_sort(waiting, waiting.begin() + static_cast<ptrdiff_t>(count));
  for (size_t i = 0; i < count; ++i) {
    connections_.erase(waiting[i].second);
  }
}

void ServerLoop::DropIfClosed(uint64_t id) {
  const auto found = connections_.find(id);
  if (found != connections_.end() && found->second->closed()) {
    connections_.erase(found);
  }
}

const std::string& ServerLoop::date() {
  const int64_t second = std::time(nullptr);
  if (second != date_second_) {
    date_second_ = second;
    date_ = HttpDate(second);
  }
  return date_;
}

void ServerLoop::SetInterest(const ServerConnection& connection, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = connection.id();
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.socket(), &event);
}

void ServerLoop::WakeAt(double time, uint64_t connection_id) {
  timers_.push({time, connection_id});
}

}  // namespace assay::http
