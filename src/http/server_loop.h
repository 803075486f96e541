// An epoll loop with timers: owns the connections that were given to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <queue>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "http/server.h"
#include "http/server_connection.h"
#include "http/server_pacer.h"
#include "http/tls_channel.h"

namespace assay::http {

/// What all loops of a server share; constant after the start but for counters and pacers, which synchronise
/// themselves.
struct ServerShared {
  ServerOptions options;
  ExchangeFactory factory;
  ServerStats stats;
  std::unique_ptr<Pacer> upload_pacer;
  std::unique_ptr<Pacer> download_pacer;
  std::unique_ptr<TlsServerContext> tls;  ///< null: plain http
};

class ServerLoop {
 public:
  explicit ServerLoop(ServerShared& shared);
  Status Open();

  /// Gives a connected socket to this loop. Thread-safe.
  void Adopt(FileDescriptor socket);
  /// Tells a connection that what it waits for is there; fine when it is closed. Thread-safe.
  void WakeConnection(uint64_t connection_id);
  /// Ends some of the connections that have waited longest for a request. Thread-safe.
  void MakeRoom();
  /// Makes Run() return. Thread-safe.
  void Stop();
  /// Serves until Stop(); with `listener` it also accepts, and deals connections out to `peers` in turn.
  void Run(int listener, const std::vector<std::unique_ptr<ServerLoop>>& peers);

  // For connections, on the loop's thread.
  ServerShared& shared() { return shared_; }
  double now() const { return now_; }
  std::span<char> scratch() { return scratch_; }
  const std::string& date();
  void SetInterest(const ServerConnection& connection, uint32_t events);
  void WakeAt(double time, uint64_t connection_id);

 private:
  struct Timer {
    double time;
    uint64_t connection_id;
    bool operator>(const Timer& other) const { return time > other.time; }
  };

  void Wake();
  int TimeoutMilliseconds() const;
  void OnEvent(uint64_t id, uint32_t events);
  void AcceptSome();
  void BeFull();
  void PauseAccepting();
  void AdoptWaiting();
  void WakeWaiting();
  void RunTimers();
  void CloseIdle();
  void CloseLongestWaiting();
  void DropIfClosed(uint64_t id);

  ServerShared& shared_;
  FileDescriptor epoll_;
  FileDescriptor wake_event_;
  int listener_ = -1;
  const std::vector<std::unique_ptr<ServerLoop>>* peers_ = nullptr;
  size_t next_peer_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> make_room_ = false;
  double now_ = 0;
  double idle_check_at_ = 0;
  int64_t date_second_ = -1;
  std::string date_;
  std::vector<char> scratch_;
  std::unordered_map<uint64_t, std::unique_ptr<ServerConnection>> connections_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  uint64_t next_id_;

  std::mutex mutex_;
  std::vector<FileDescriptor> waiting_;  ///< guarded by mutex_
  std::vector<uint64_t> woken_;          ///< guarded by mutex_
};

}  // namespace assay::http
