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
  std::unique_lock lock(mutex_);
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
  std::optional<PooledMemory> memory = Give(bytes);
  if (!memory) {
    return Status::OutOfMemory(fmt::format("there is no memory left for a buffer of {} (lower the memory budget)",
                                           FormatBytes(static_cast<double>(bytes))));
  }
  return *std::move(memory);
}

std::optional<PooledMemory> MemoryPool::TryTake(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  return line_.empty() && HasRoom(bytes) ? Give(bytes) : std::nullopt;
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
  return moving_ == 0 && !HasRoom(line_.front()) && std::ranges::all_of(held_, waits);
}

Buffer MemoryPool::Allocate(size_t bytes) {
  void* memory = allocator_ == nullptr ? ::operator new[](bytes, std::nothrow) : allocator_->Allocate(bytes);
  return Buffer(static_cast<std::byte*>(memory), {allocator_.get(), bytes});
}

std::optional<PooledMemory> MemoryPool::Give(int64_t bytes) {
  PooledMemory memory;
  memory.size_ = static_cast<size_t>(bytes);
  if (const auto kept = kept_.find(memory.size_); kept != kept_.end()) {
    memory.memory_ = std::move(kept->second);
    kept_.erase(kept);
    kept_bytes_ -= bytes;
  }
  while (!kept_.empty() && taken_ + bytes + kept_bytes_ > budget_) {
    kept_bytes_ -= static_cast<int64_t>(kept_.begin()->first);
    kept_.erase(kept_.begin());
  }
  if (memory.memory_ == nullptr) {
    memory.memory_ = Allocate(memory.size_);
  }
  if (memory.memory_ == nullptr && !kept_.empty()) {  // there is less than the budget
    kept_.clear();
    kept_bytes_ = 0;
    memory.memory_ = Allocate(memory.size_);
  }
  if (memory.memory_ == nullptr) {
    return std::nullopt;
  }
  memory.pool_ = this;
  memory.taker_ = std::this_thread::get_id();
  taken_ += bytes;
  peak_ = std::max(peak_, taken_);
  CountHeld(memory.taker_, bytes);
  return memory;
}

void MemoryPool::GiveBack(PooledMemory& memory) {
  const std::lock_guard lock(mutex_);
  const auto bytes = static_cast<int64_t>(memory.size_);
  taken_ -= bytes;
  memory.moving_ ? static_cast<void>(moving_ -= bytes) : CountHeld(memory.taker_, -bytes);
  if (taken_ + kept_bytes_ + bytes <= budget_) {
    kept_.emplace(memory.size_, std::move(memory.memory_));
    kept_bytes_ += bytes;
  }
  memory.memory_.reset();
  given_back_.notify_all();
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
