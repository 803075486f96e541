#include "storage/transfers.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace assay::storage {

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

void Transfer::Run() {
  // What was cancelled while it waited does not ask the store.
  Result<ObjectInfo> result = cancelled_ ? Status::Aborted("the transfer was cancelled") : work_(&cancelled_);
  if (on_done_) {
    on_done_(result);
  }
  work_ = nullptr;
  on_done_ = nullptr;
  const std::lock_guard lock(mutex_);
  result_ = std::move(result);
  ended_.notify_all();
}

Transfers::Transfers(int lanes) : lanes_(static_cast<size_t>(std::max(lanes, 1))) {}

Transfers::~Transfers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [priority, transfer] : waiting_) {
      transfer->Cancel();
    }
    for (const auto& transfer : running_) {
      transfer->Cancel();
    }
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

std::shared_ptr<Transfer> Transfers::Read(ObjectStore& store, std::string key, std::vector<ReadPiece> pieces,
                                          ReadOptions read, TransferOptions options) {
  read.priority = options.priority;
  return Start(
      [&store, key = std::move(key), pieces = std::move(pieces), read = std::move(read)](CancelFlag cancel) mutable {
        read.cancel = cancel;
        return store.Read(key, pieces, read);
      },
      std::move(options));
}

std::shared_ptr<Transfer> Transfers::ReadWhole(ObjectStore& store, std::string key,
                                               std::function<MutableBytes(int64_t size)> allocate, ReadOptions read,
                                               TransferOptions options) {
  read.priority = options.priority;
  return Start(
      [&store, key = std::move(key), allocate = std::move(allocate),
       read = std::move(read)](CancelFlag cancel) mutable {
        read.cancel = cancel;
        return store.ReadWhole(key, allocate, read);
      },
      std::move(options));
}

std::shared_ptr<Transfer> Transfers::Write(ObjectStore& store, std::string key, std::vector<Bytes> buffers,
                                           WriteOptions write, TransferOptions options) {
  write.priority = options.priority;
  return Start(
      [&store, key = std::move(key), buffers = std::move(buffers),
       write = std::move(write)](CancelFlag cancel) mutable {
        write.cancel = cancel;
        return store.Write(key, buffers, write);
      },
      std::move(options));
}

std::shared_ptr<Transfer> Transfers::Start(Transfer::Work work, TransferOptions options) {
  const std::shared_ptr<Transfer> transfer(new Transfer(std::move(work), std::move(options.on_done)));
  const std::lock_guard lock(mutex_);
  if (stopping_) {
    transfer->Cancel();
  }
  waiting_.emplace(options.priority, transfer);
  // What an end starts while all are given up is taken by the thread that tells of that end.
  if (!stopping_ && idle_ < waiting_.size() && threads_.size() < lanes_) {
    threads_.emplace_back([this] { Serve(); });
  } else {
    changed_.notify_all();
  }
  return transfer;
}

void Transfers::WaitAll() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && running_.empty(); });
}

void Transfers::Serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) {
      return;
    }
    const std::shared_ptr<Transfer> transfer = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    running_.push_back(transfer);
    lock.unlock();
    transfer->Run();
    lock.lock();
    std::erase(running_, transfer);
    changed_.notify_all();
  }
}

}  // namespace assay::storage
