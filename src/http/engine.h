// What carries out transfers on one I/O thread.
#pragma once

#include "http/client.h"
#include "http/token_bucket.h"
#include "http/trickle_watch.h"

namespace assay::http {

/// What the engines of a client have together.
struct Shared {
  explicit Shared(const ClientOptions& options);

  const ClientOptions& options;
  TokenBucket bucket;
  Received received;
};

/// A transfer with who asked for it.
struct Job {
  TransferId id = 0;
  Transfer transfer;
  Client::Callback callback;
};

/// Belongs to one thread, except Wake(). Callbacks run within its members, on that thread.
class Engine {
 public:
  virtual ~Engine() = default;

  /// `job` has no flaw.
  virtual void Begin(Job job) = 0;
  /// False: there is no such transfer.
  virtual bool Cancel(TransferId id) = 0;
  virtual void CancelAll() = 0;
  /// Transfers that have begun and not ended.
  virtual size_t active() const = 0;
  /// Waits until there is something to do, and does it.
  virtual void RunOnce() = 0;
  /// Ends a wait of RunOnce(), from any thread.
  virtual void Wake() = 0;
};

/// The outcome of a transfer that was given up.
Outcome CancelledOutcome();

}  // namespace assay::http
