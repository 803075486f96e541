#include "storage/transfers.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "base/parallel.h"
#include "storage/async_store.h"

namespace assay::storage {
namespace {

/// That carry on what holds no thread.
constexpr int kMostWorkers = 4;
/// Of transfers that hold one.
constexpr size_t kMostThreads = 32;

Result<ObjectInfo> CancelledTransfer() {
  return Status::Aborted("the transfer was cancelled");
}

Task<Result<ObjectInfo>> ReadTask(AsyncStore& store, std::string key, std::vector<ReadPiece> pieces, ReadOptions read) {
  co_return co_await store.ReadAsync(key, pieces, read);
}

Task<Result<ObjectInfo>> ReadWholeTask(AsyncStore& store, std::string key,
                                       std::function<MutableBytes(int64_t size)> allocate, ReadOptions read) {
  co_return co_await store.ReadWholeAsync(key, allocate, read);
}

Task<Result<ObjectInfo>> WriteTask(AsyncStore& store, std::string key, std::vector<Bytes> buffers, WriteOptions write) {
  co_return co_await store.WriteAsync(key, buffers, write);
}

}  // namespace

bool Transfer::done() const {
  const std::lock_guard lock(mutex_);
  return result_.has_value();
}

const Result<ObjectInfo>& Transfer::Wait() const {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return result_.has_value(); });
  return *result_;
}

bool Transfer::WaitFor(double seconds) const {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return result_.has_value(); });
}

void Transfer::End(Result<ObjectInfo> result) {
  if (on_done_) {
    on_done_(result);
  }
  // What they hold is the caller's, who may wait for this.
  work_ = nullptr;
  begin_ = nullptr;
  on_done_ = nullptr;
  const std::lock_guard lock(mutex_);
  result_ = std::move(result);
  ended_.notify_all();
}

Transfers::Transfers(int at_a_time) : at_a_time_(static_cast<size_t>(std::max(at_a_time, 1))) {
  workers_.emplace(std::min(kMostWorkers, UsableThreads()));
}

Transfers::~Transfers() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    for (const Queue* queue : {&waiting_, &holding_}) {
      for (const auto& [priority, transfer] : *queue) {
        transfer->Cancel();
      }
    }
    for (const auto& transfer : running_) {
      transfer->Cancel();
    }
    changed_.wait(lock, [this] { return waiting_.empty() && running_.empty(); });
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  workers_.reset();
}

std::shared_ptr<Transfer> Transfers::Read(ObjectStore& store, std::string key, std::vector<ReadPiece> pieces,
                                          ReadOptions read, TransferOptions options) {
  read.priority = options.priority;
  if (AsyncStore* async = store.async()) {
    return Start(
        nullptr,
        [async, key = std::move(key), pieces = std::move(pieces), read = std::move(read)](CancelFlag cancel) mutable {
          read.cancel = cancel;
          return ReadTask(*async, std::move(key), std::move(pieces), std::move(read));
        },
        std::move(options));
  }
  return Start(
      [&store, key = std::move(key), pieces = std::move(pieces), read = std::move(read)](CancelFlag cancel) mutable {
        read.cancel = cancel;
        return store.Read(key, pieces, read);
      },
      nullptr, std::move(options));
}

std::shared_ptr<Transfer> Transfers::ReadWhole(ObjectStore& store, std::string key,
                                               std::function<MutableBytes(int64_t size)> allocate, ReadOptions read,
                                               TransferOptions options) {
  read.priority = options.priority;
  if (AsyncStore* async = store.async()) {
    return Start(
        nullptr,
        [async, key = std::move(key), allocate = std::move(allocate),
         read = std::move(read)](CancelFlag cancel) mutable {
          read.cancel = cancel;
          return ReadWholeTask(*async, std::move(key), std::move(allocate), std::move(read));
        },
        std::move(options));
  }
  return Start(
      [&store, key = std::move(key), allocate = std::move(allocate),
       read = std::move(read)](CancelFlag cancel) mutable {
        read.cancel = cancel;
        return store.ReadWhole(key, allocate, read);
      },
      nullptr, std::move(options));
}

std::shared_ptr<Transfer> Transfers::Write(ObjectStore& store, std::string key, std::vector<Bytes> buffers,
                                           WriteOptions write, TransferOptions options) {
  write.priority = options.priority;
  if (AsyncStore* async = store.async()) {
    return Start(
        nullptr,
        [async, key = std::move(key), buffers = std::move(buffers),
         write = std::move(write)](CancelFlag cancel) mutable {
          write.cancel = cancel;
          return WriteTask(*async, std::move(key), std::move(buffers), std::move(write));
        },
        std::move(options));
  }
  return Start(
      [&store, key = std::move(key), buffers = std::move(buffers),
       write = std::move(write)](CancelFlag cancel) mutable {
        write.cancel = cancel;
        return store.Write(key, buffers, write);
      },
      nullptr, std::move(options));
}

std::shared_ptr<Transfer> Transfers::Start(Transfer::Work work, Transfer::Begin begin, TransferOptions options) {
  const auto transfer = std::make_shared<Transfer>();
  transfer->work_ = std::move(work);
  transfer->begin_ = std::move(begin);
  transfer->on_done_ = std::move(options.on_done);
  transfer->priority_ = options.priority;
  const std::lock_guard lock(mutex_);
  if (stopping_) {
    transfer->Cancel();
  }
  waiting_.emplace(options.priority, transfer);
  StartWaiting();
  return transfer;
}

void Transfers::StartWaiting() {
  while (!waiting_.empty() && running_.size() < at_a_time_) {
    const std::shared_ptr<Transfer> next = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    running_.push_back(next);
    if (next->begin_) {
      Spawn(*workers_, Run(next));
      continue;
    }
    holding_.emplace(next->priority_, next);
    if (idle_ < holding_.size() && threads_.size() < kMostThreads) {
      threads_.emplace_back([this] { Serve(); });
    } else {
      changed_.notify_all();
    }
  }
}

Task<void> Transfers::Run(std::shared_ptr<Transfer> transfer) {
  // What was cancelled while it waited does not ask the store.
  if (transfer->cancelled_) {
    Ended(transfer, CancelledTransfer());
    co_return;
  }
  Result<ObjectInfo> result = co_await transfer->begin_(&transfer->cancelled_);
  Ended(transfer, std::move(result));
}

void Transfers::Ended(const std::shared_ptr<Transfer>& transfer, Result<ObjectInfo> result) {
  transfer->End(std::move(result));
  // Told while the lock is held: who waits for all may take this away then.
  const std::lock_guard lock(mutex_);
  std::erase(running_, transfer);
  StartWaiting();
  changed_.notify_all();
}

void Transfers::WaitAll() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && running_.empty(); });
}

void Transfers::Serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return !holding_.empty() || (stopping_ && running_.empty() && waiting_.empty()); });
    --idle_;
    if (holding_.empty()) {
      return;
    }
    const std::shared_ptr<Transfer> transfer = holding_.begin()->second;
    holding_.erase(holding_.begin());
    lock.unlock();
    Ended(transfer, transfer->cancelled_ ? CancelledTransfer() : transfer->work_(&transfer->cancelled_));
    lock.lock();
  }
}

}  // namespace assay::storage
