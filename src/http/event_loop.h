// libcurl's multi handle on epoll: only sockets with something to do are touched, however many are open.
#pragma once

#include <curl/curl.h>

#include <functional>

#include "base/file_descriptor.h"

namespace assay::http {

/// Belongs to one thread, except Wake().
class EventLoop {
 public:
  /// `on_socket` hears which socket libcurl waits for on behalf of a handle; CURL_SOCKET_BAD: none any more.
  EventLoop(long max_kept_connections, std::function<void(CURL*, curl_socket_t)> on_socket);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void Add(CURL* handle);
  void Remove(CURL* handle);
  /// Waits for sockets, timers, Wake() or `limit_seconds`, lets libcurl work, and calls `done` for each finished
  /// handle, which is already out of the multi handle.
  void RunOnce(double limit_seconds, const std::function<void(CURL*, CURLcode)>& done);
  /// Ends a wait of RunOnce, from any thread.
  void Wake();

 private:
  static int OnSocket(CURL* handle, curl_socket_t socket, int what, void* self, void* known);
  static int OnTimer(CURLM* multi, long timeout_ms, void* self);

  int WaitMilliseconds(double limit_seconds) const;

  const std::function<void(CURL*, curl_socket_t)> on_socket_;
  CURLM* multi_;
  FileDescriptor epoll_;
  FileDescriptor wake_;
  double timer_seconds_ = -1;  ///< when libcurl wants to be called; negative: not
};

}  // namespace assay::http
