#include "storage/memory_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "base/text.h"
#include "storage/store_checks.h"

namespace assay::storage {

PooledMemory& PooledMemory::operator=(PooledMemory&& other) noexcept {
  if (this != &other) {
    GiveBack();
    pool_ = std::exchange(other.pool_, nullptr);
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    taker_ = other.taker_;
    moving_ = std::exchange(other.moving_, false);
  }
  return *this;
}

void PooledMemory::SetMoving() {
  if (memory_ != nullptr && !std::exchange(moving_, true)) {
    pool_->SetMoving(*this);
  }
}

void PooledMemory::GiveBack() {
  if (memory_ != nullptr) {
    pool_->GiveBack(*this);
    size_ = 0;
  }
}

MemoryPool::Shared& MemoryPool::OfAllPools() {
  static auto* const shared = new Shared;  // outlives every pool
  return *shared;
}

Result<PooledMemory> MemoryPool::Take(int64_t bytes, CancelFlag cancel) {
  // Also for what happens to other pools.
  constexpr std::chrono::milliseconds kPoll(50);
  if (bytes > budget_) {
    return Status::InvalidArgument(fmt::format("{} do not fit in the store's memory budget of {} (raise it)",
                                               FormatBytes(static_cast<double>(bytes)),
                                               FormatBytes(static_cast<double>(budget_))));
  }
  Lock lock(mutex_);
  const auto own = line_.insert(line_.end(), bytes);
  OfAllPools().waiting[std::this_thread::get_id()] = this;
  const auto may_take = [&] {
    std::set<const MemoryPool*> asked;
    return own == line_.begin() && (HasRoom(bytes) || IsStuck(asked));
  };
  // Who comes may be the last that others wait for.
  given_back_.notify_all();
  while (!may_take() && !IsCancelled(cancel)) {
    given_back_.wait_for(lock, kPoll);
  }
  const bool cancelled = !may_take();
  line_.erase(own);
  OfAllPools().waiting.erase(std::this_thread::get_id());
  given_back_.notify_all();
  if (cancelled) {
    return Status::Aborted("interrupted while waiting for memory");
  }
  std::optional<PooledMemory> memory = Give(lock, bytes);
  if (!memory) {
    return Status::OutOfMemory(fmt::format("there is no memory left for a buffer of {} (lower the memory budget)",
                                           FormatBytes(static_cast<double>(bytes))));
  }
  return *std::move(memory);
}

std::optional<PooledMemory> MemoryPool::TryTake(int64_t bytes) {
  Lock lock(mutex_);
  return line_.empty() && HasRoom(bytes) ? Give(lock, bytes) : std::nullopt;
}

int64_t MemoryPool::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

int64_t MemoryPool::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

bool MemoryPool::IsStuck(std::set<const MemoryPool*>& asked) const {
  if (!asked.insert(this).second) {
    return true;  // pools that wait for each other are, unless something else in one of them goes on
  }
  const auto waits = [&asked](const auto& holder) {
    const auto& waiting = OfAllPools().waiting;
    const auto found = waiting.find(holder.first);
    return found != waiting.end() && found->second->IsStuck(asked);
  };
  return moving_ == 0 && freeing_ == 0 && !HasRoom(line_.front()) && std::ranges::all_of(held_, waits);
}

Buffer MemoryPool::Allocate(Lock& lock, int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  lock.unlock();
  void* memory = allocator_ == nullptr ? ::operator new[](size, std::nothrow) : allocator_->Allocate(size);
  lock.lock();
  return Buffer(static_cast<std::byte*>(memory), {allocator_.get(), size});
}

void MemoryPool::Free(Lock& lock, Buffer buffer) {
  const auto bytes = static_cast<int64_t>(buffer.get_deleter().bytes);
  freeing_ += bytes;
  lock.unlock();
  buffer.reset();
  lock.lock();
  freeing_ -= bytes;
  given_back_.notify_all();
}

void MemoryPool::MakeRoom(Lock& lock, int64_t bytes) {
  while (!kept_.empty() && !HasRoom(kept_bytes_ + bytes)) {
    Buffer buffer = std::move(kept_.begin()->second);
    kept_.erase(kept_.begin());
    kept_bytes_ -= static_cast<int64_t>(buffer.get_deleter().bytes);
    Free(lock, std::move(buffer));
  }
}

void MemoryPool::Count(const PooledMemory& memory, int sign) {
  const int64_t bytes = sign * static_cast<int64_t>(memory.size_);
  taken_ += bytes;
  memory.moving_ ? static_cast<void>(moving_ += bytes) : CountHeld(memory.taker_, bytes);
}

std::optional<PooledMemory> MemoryPool::Give(Lock& lock, int64_t bytes) {
  PooledMemory memory;
  memory.size_ = static_cast<size_t>(bytes);
  memory.taker_ = std::this_thread::get_id();
  if (const auto kept = kept_.find(memory.size_); kept != kept_.end()) {
    memory.memory_ = std::move(kept->second);
    kept_.erase(kept);
    kept_bytes_ -= bytes;
  }
  Count(memory, 1);
  MakeRoom(lock, 0);
  if (memory.memory_ == nullptr) {
    memory.memory_ = Allocate(lock, bytes);
  }
  while (memory.memory_ == nullptr && (freeing_ > 0 || !kept_.empty())) {  // there is less than the budget
    MakeRoom(lock, budget_);
    given_back_.wait(lock, [this] { return freeing_ == 0; });
    memory.memory_ = Allocate(lock, bytes);
  }
  if (memory.memory_ == nullptr) {
    Count(memory, -1);
    given_back_.notify_all();
    return std::nullopt;
  }
  peak_ = std::max(peak_, taken_);
  memory.pool_ = this;
  return memory;
}

void MemoryPool::GiveBack(PooledMemory& memory) {
  Lock lock(mutex_);
  Count(memory, -1);
  const auto bytes = static_cast<int64_t>(memory.size_);
  if (HasRoom(kept_bytes_ + bytes)) {
    kept_.emplace(memory.size_, std::move(memory.memory_));
    kept_bytes_ += bytes;
    given_back_.notify_all();
  } else {
    Free(lock, std::move(memory.memory_));
  }
}

void MemoryPool::SetMoving(const PooledMemory& memory) {
  const std::lock_guard lock(mutex_);
  const auto bytes = static_cast<int64_t>(memory.size_);
  moving_ += bytes;
  CountHeld(memory.taker_, -bytes);
}

void MemoryPool::CountHeld(std::thread::id taker, int64_t bytes) {
  int64_t& held = held_[taker];
  held += bytes;
  if (held == 0) {
    held_.erase(taker);
  }
}

}  // namespace assay::storage
