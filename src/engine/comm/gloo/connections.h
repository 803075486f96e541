// Broken connections between ranks over gloo, and waits that end when they break.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

namespace assay::engine {

using GlooBackend = c10::intrusive_ptr<c10d::Backend>;

/// A message that did not come or go: its peer, in the group.
class PeerFailure : public std::runtime_error {
 public:
  PeerFailure(int peer, const std::string& reason) : std::runtime_error(reason), peer_(peer) {}
  int peer() const { return peer_; }

 private:
  int peer_;
};

/// What `body` gives; what it throws is about `peer`. A connection that broke earlier throws as soon as it is used.
template <typename Body>
auto with_peer(int peer, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    throw PeerFailure(peer, error.what());
  }
}

/// The tag of messages that nobody sends; collectives and messages have others.
constexpr int kNobodySends = 15;

/// The connections of one rank, in whatever groups it is. Safe from several threads.
class OpenConnections {
 public:
  /// Those of a group, for as long as it is there.
  void add(const GlooBackend& gloo);
  /// This rank goes on no more: whoever waits for one of its messages, in any group, sees that it will not come. Closes
  /// those of groups that are added afterwards too.
  void close_all();

 private:
  std::mutex mutex_;
  bool closed_ = false;                                           // protected by mutex_
  std::vector<c10::weak_intrusive_ptr<c10d::Backend>> backends_;  // protected by mutex_
};

/// Waits for messages. Where a connection breaks, gloo tells whoever waits for a message that has not begun to move,
/// but not whoever waits for the one that was under way (Pair::signalException of its tcp transport passes over it):
/// that wait would last until its deadline. A thread looks at the connections of waits that last, and ends those whose
/// connection it has found broken twice: a message that was the peer's last may just have come. One for all groups of a
/// rank; safe from several threads.
class MessageWaits {
 public:
  explicit MessageWaits(std::chrono::milliseconds deadline);
  ~MessageWaits();
  MessageWaits(const MessageWaits&) = delete;
  MessageWaits& operator=(const MessageWaits&) = delete;

  /// Until `work`, a message from or to `peer` over `gloo`, is done. Throws PeerFailure when its connection breaks, or
  /// after the deadline.
  void wait(const GlooBackend& gloo, int peer, c10d::Work& work);

 private:
  struct Wait {
    GlooBackend gloo;
    int peer;
    c10d::Work* work;
    double since;
    std::string broken = {};  ///< why its connection is
  };

  void watch();
  /// Without holding the lock: gloo may be busy with the connection for as long as a message takes.
  void look_at(const std::map<uint64_t, Wait>& waits);
  /// With the lock.
  std::map<uint64_t, Wait> long_waits() const;

  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::condition_variable stopping_;
  bool stop_ = false;               // protected by mutex_
  uint64_t number_ = 0;             // of the last wait; protected by mutex_
  std::map<uint64_t, Wait> waits_;  // by number; protected by mutex_
  std::thread thread_;              // last: uses all of the above
};

}  // namespace assay::engine
