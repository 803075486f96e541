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
  using Work = std::function<Result<ObjectInfo>(CancelFlag)>;

  Transfer(Work work, std::function<void(const Result<ObjectInfo>&)> on_done)
      : work_(std::move(work)), on_done_(std::move(on_done)) {}
  void Run();

  Work work_;
  std::function<void(const Result<ObjectInfo>&)> on_done_;
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

/// Transfers from and to any stores. Many may be started; so many of them as there are `lanes` move bytes at a time,
/// the others wait for their turn and cost a few hundred bytes each. Stores retry and send on threads of their own;
/// those here wait for them. Memory that is given must live until its transfer has ended; stores must live longer than
/// this. ReadOptions::cancel and WriteOptions::cancel are not looked at: a transfer has Cancel(). Safe from several
/// threads.
class Transfers {
 public:
  explicit Transfers(int lanes = 32);
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
  std::shared_ptr<Transfer> Start(Transfer::Work work, TransferOptions options);
  void Serve();

  const size_t lanes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  /// By priority, the highest first, and in order of their start. Guarded by mutex_.
  std::multimap<int, std::shared_ptr<Transfer>, std::greater<>> waiting_;
  std::vector<std::shared_ptr<Transfer>> running_;  // guarded by mutex_
  size_t idle_ = 0;                                 // threads; guarded by mutex_
  bool stopping_ = false;                           // guarded by mutex_
  std::vector<std::thread> threads_;                // guarded by mutex_ until the destructor
};

}  // namespace assay::storage
