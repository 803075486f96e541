// Reads and writes that go on while the program computes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/task.h"
#include "storage/object_store.h"

namespace assay::storage {

/// One that was started. May be used from any thread, and let go of before it has ended.
class Transfer {
 public:
  bool done() const;
  /// Waits for its end. What it read or wrote is then the caller's again.
  const Result<ObjectInfo>& Wait() const;
  /// Whether it ends within so long.
  bool WaitFor(double seconds) const;
  /// Ends it soon, with ErrorCode::kAborted, unless it has ended before.
  void Cancel() { cancelled_ = true; }

 private:
  friend class Transfers;
  /// Holds the thread that calls it.
  using Work = std::function<Result<ObjectInfo>(CancelFlag)>;
  /// Holds none.
  using Begin = std::function<Task<Result<ObjectInfo>>(CancelFlag)>;

  void End(Result<ObjectInfo> result);

  Work work_;  ///< one of the two
  Begin begin_;
  std::function<void(const Result<ObjectInfo>&)> on_done_;
  int priority_ = 0;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  std::optional<Result<ObjectInfo>> result_;  // guarded by mutex_
};

struct TransferOptions {
  /// Those with a higher one begin first, and in remote stores their parts are sent first.
  int priority = 0;
  /// Told of the end on a thread of Transfers, before Wait() returns. It may start others, and must not wait for any.
  std::function<void(const Result<ObjectInfo>&)> on_done{};
};

/// Transfers from and to any stores. Any number may be started; `at_a_time` of them are under way, the others wait for
/// their turn and cost a few hundred bytes each. Those of remote stores (ObjectStore::async()) hold no thread while
/// they wait for the network: a few threads here carry all of them on, by turns, and compute their checksums. Those of
/// other stores hold one each, 32 at most. Memory that is given must live until its transfer has ended; stores must
/// live longer than this. ReadOptions::cancel and WriteOptions::cancel are not looked at: a transfer has Cancel(). Safe
/// from several threads.
class Transfers {
 public:
  explicit Transfers(int at_a_time = 1024);
  /// Cancels what has not ended, and waits for it.
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  std::shared_ptr<Transfer> Read(ObjectStore& store, std::string key, std::vector<ReadPiece> pieces,
                                 ReadOptions read = {}, TransferOptions options = {});
  /// `allocate` as of ObjectStore::ReadWhole().
  std::shared_ptr<Transfer> ReadWhole(ObjectStore& store, std::string key,
                                      std::function<MutableBytes(int64_t size)> allocate, ReadOptions read = {},
                                      TransferOptions options = {});
  std::shared_ptr<Transfer> Write(ObjectStore& store, std::string key, std::vector<Bytes> buffers,
                                  WriteOptions write = {}, TransferOptions options = {});
  /// Until all that were started have ended.
  void WaitAll();

 private:
  using Queue = std::multimap<int, std::shared_ptr<Transfer>, std::greater<>>;

  std::shared_ptr<Transfer> Start(Transfer::Work work, Transfer::Begin begin, TransferOptions options);
  /// Needs mutex_.
  void StartWaiting();
  Task<void> Run(std::shared_ptr<Transfer> transfer);
  /// A thread that transfers hold.
  void Serve();
  void Ended(const std::shared_ptr<Transfer>& transfer, Result<ObjectInfo> result);

  const size_t at_a_time_;
  std::mutex mutex_;
  std::condition_variable changed_;
  /// By priority, the highest first, and in order of their start. Guarded by mutex_.
  Queue waiting_;
  Queue holding_;                                   // that a thread is to carry out; guarded by mutex_
  std::vector<std::shared_ptr<Transfer>> running_;  // guarded by mutex_
  size_t idle_ = 0;                                 // threads; guarded by mutex_
  bool stopping_ = false;                           // guarded by mutex_
  std::vector<std::thread> threads_;                // guarded by mutex_ until the destructor
  std::optional<WorkerThreads> workers_;
};

}  // namespace assay::storage
