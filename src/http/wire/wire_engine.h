// Transfers by connections of our own: HTTP/1.1 on epoll.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/file_descriptor.h"
#include "http/engine.h"
#include "http/wire/wire_connection.h"

namespace assay::http {

/// Of scratch(): what is received at once is still in the cache when it is checksummed.
inline constexpr size_t kReceiveBytes = 256 << 10;

class WireEngine : public Engine {
 public:
  /// `shared`, `addresses` and `tls` must outlive it. `max_kept_connections`: idle ones beyond are closed.
  WireEngine(Shared& shared, AddressBook& addresses, TlsContext& tls, int max_kept_connections);
  ~WireEngine() override;

  void Begin(Job job) override;
  bool Cancel(TransferId id) override;
  void CancelAll() override;
  size_t active() const override { return active_.size(); }
  void RunOnce() override;
  void Wake() override;

  // For its connections, on the engine's thread.
  Shared& shared() { return shared_; }
  const Dialing& dialing() const { return dialing_; }
  /// Memory that is anyone's until it returns.
  std::span<std::byte> scratch() { return scratch_; }
  void Watch(int socket, uint32_t events, WireConnection& connection);
  /// WireConnection::Check() is called then.
  void CheckBy(double seconds) { check_at_ = std::min(check_at_, seconds); }
  /// Proceed() is called soon, after the others have had their turn.
  void Again(WireConnection& connection);
  void Finished(WireConnection& connection, WireJob job, Outcome outcome);
  /// The transfer is begun anew, on another connection; this one is gone.
  void Restart(WireConnection& connection, WireJob job);
  /// An idle connection is gone.
  void Gone(WireConnection& connection);

 private:
  /// Ends waits, from any thread; outlives the engine where a name is still looked up.
  struct Waker {
    FileDescriptor event;
    std::atomic<bool> names = false;  ///< some have become known
  };

  void BeginOn(WireConnection& connection, WireJob job);
  WireConnection& MakeConnection(const Origin& origin);
  WireConnection* TakeIdle(const Origin& origin);
  void Keep(WireConnection& connection);
  /// Not at once: events for it may be waiting.
  void Bury(WireConnection& connection);
  void CloseOldestIdle();
  double ShareBandwidth();
  void HandleEvents(double limit_seconds);
  void Check(double now);

  Shared& shared_;
  const size_t max_kept_;
  const std::shared_ptr<Waker> waker_;
  const Dialing dialing_;
  FileDescriptor epoll_;
  std::vector<std::byte> scratch_;

  std::unordered_map<WireConnection*, std::unique_ptr<WireConnection>> connections_;
  std::unordered_map<TransferId, WireConnection*> active_;
  std::map<Origin, std::vector<WireConnection*>> idle_;  ///< used last, taken first
  size_t idle_count_ = 0;
  std::vector<WireConnection*> again_;
  std::vector<std::unique_ptr<WireConnection>> buried_;
  double check_at_ = 0;
};

}  // namespace assay::http
