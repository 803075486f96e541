// Responses that are not ready when a request is: those made on another thread, and bodies written as things happen.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace assay::http {

struct ServerResponse;

/// What wakes the connection that waits for something made on another thread.
class Waker {
 public:
  /// Called from any thread, at once where something is there already. Empty: nobody waits any more; when this returns,
  /// no call is under way.
  void Set(std::function<void()> wake);

 protected:
  /// With the mutex held.
  void Wake();

  std::mutex mutex_;
  bool ready_ = false;  ///< there is something to wake for

 private:
  std::function<void()> wake_;
};

/// The body of a response as a stream: written by any thread, sent by the connection in chunks as soon as they come.
/// Who writes faster than the client reads is told to stop, and nobody waits.
class ResponseStream : public Waker {
 public:
  explicit ResponseStream(size_t most_waiting_bytes = 1 << 20) : most_waiting_bytes_(most_waiting_bytes) {}

  /// False: it goes nowhere. The client has gone, or had `most_waiting_bytes` waiting: then its connection is closed.
  bool Write(std::string_view bytes);
  /// Nothing more comes: the body ends in order.
  void Close();

  // For the connection.
  struct Waiting {
    std::string bytes;
    bool closed = false;
    bool overflowed = false;
  };
  Waiting Take();
  bool overflowed();
  /// The client has gone.
  void Abandon();

 private:
  const size_t most_waiting_bytes_;
  std::string waiting_;
  bool closed_ = false;
  bool overflowed_ = false;
};

/// A response that another thread makes; until then its connection waits and its loop serves others.
class DeferredResponse : public Waker {
 public:
  DeferredResponse();
  ~DeferredResponse();

  void Set(ServerResponse response);
  using Waker::Set;

  /// Nothing before Set().
  std::optional<ServerResponse> Take();

 private:
  std::unique_ptr<ServerResponse> response_;
};

/// `bytes` as one chunk (RFC 9112 section 7.1); of none the last one.
std::string AsChunk(std::string_view bytes);

}  // namespace assay::http
