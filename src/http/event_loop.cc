#include "http/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace assay::http {
namespace {

constexpr int kEventsAtOnce = 64;

uint32_t EpollEvents(int what) {
  return ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0U);
}

int CurlEvents(uint32_t events) {
  return ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) | ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
         ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
}

}  // namespace

EventLoop::EventLoop(long max_kept_connections, std::function<void(CURL*, curl_socket_t)> on_socket)
    : on_socket_(std::move(on_socket)),
      multi_(curl_multi_init()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &EventLoop::OnSocket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, static_cast<void*>(this));
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &EventLoop::OnTimer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, static_cast<void*>(this));
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, max_kept_connections);
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_.get()}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
}

EventLoop::~EventLoop() {
  curl_multi_cleanup(multi_);
}

void EventLoop::Add(CURL* handle) {
  curl_multi_add_handle(multi_, handle);
}

void EventLoop::Remove(CURL* handle) {
  curl_multi_remove_handle(multi_, handle);
}

void EventLoop::Wake() {
  const uint64_t one = 1;
  // A full counter wakes as well, so the result does not matter.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

int EventLoop::OnSocket(CURL* handle, curl_socket_t socket, int what, void* self, void* known) {
  auto* loop = static_cast<EventLoop*>(self);
  loop->on_socket_(handle, what == CURL_POLL_REMOVE ? CURL_SOCKET_BAD : socket);
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(loop->epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
    return 0;
  }
  epoll_event event{.events = EpollEvents(what), .data = {.fd = socket}};
  epoll_ctl(loop->epoll_.get(), known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
  curl_multi_assign(loop->multi_, socket, self);
  return 0;
}

int EventLoop::OnTimer(CURLM* multi, long timeout_ms, void* self) {
  auto* loop = static_cast<EventLoop*>(self);
  loop->timer_seconds_ = timeout_ms < 0 ? -1 : MonotonicSeconds() + static_cast<double>(timeout_ms) * 1e-3;
  return 0;
}

int EventLoop::WaitMilliseconds(double limit_seconds) const {
  double wait = limit_seconds;
  if (timer_seconds_ >= 0) {
    wait = std::min(wait, timer_seconds_ - MonotonicSeconds());
  }
  return wait <= 0 ? 0 : static_cast<int>(std::ceil(wait * 1000));
}

void EventLoop::RunOnce(double limit_seconds, const std::function<void(CURL*, CURLcode)>& done) {
  epoll_event events[kEventsAtOnce];
  const int count = epoll_wait(epoll_.get(), events, kEventsAtOnce, WaitMilliseconds(limit_seconds));
  int running = 0;
  for (int i = 0; i < count; ++i) {
    if (events[i].data.fd == wake_.get()) {
      uint64_t wakes;
      [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &wakes, sizeof wakes);
    } else {
      curl_multi_socket_action(multi_, events[i].data.fd, CurlEvents(events[i].events), &running);
    }
  }
  if (timer_seconds_ >= 0 && MonotonicSeconds() >= timer_seconds_) {
    timer_seconds_ = -1;
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) {
      CURL* handle = message->easy_handle;
      const CURLcode code = message->data.result;
      Remove(handle);
      done(handle, code);
    }
  }
}

}  // namespace assay::http
