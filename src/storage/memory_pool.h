// The memory budget of a store: buffers of its writers and readers, counted to the byte.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/status.h"
#include "storage/buffer_allocator.h"
#include "storage/object_store.h"

namespace assay::storage {

class MemoryPool;

/// Given back to where it came from.
struct BufferDeleter {
  BufferAllocator* allocator = nullptr;  ///< null: the heap
  size_t bytes = 0;
  void operator()(std::byte* memory) const {
    allocator == nullptr ? ::operator delete[](memory) : allocator->Free(memory, bytes);
  }
};
using Buffer = std::unique_ptr<std::byte[], BufferDeleter>;

/// Memory out of a pool, which must outlive it; given back by the destructor, on any thread.
class PooledMemory {
 public:
  PooledMemory() = default;
  PooledMemory(PooledMemory&& other) noexcept { *this = std::move(other); }
  PooledMemory& operator=(PooledMemory&& other) noexcept;
  ~PooledMemory() { GiveBack(); }

  explicit operator bool() const { return memory_ != nullptr; }
  MutableBytes bytes() const { return {memory_.get(), size_}; }
  size_t size() const { return size_; }
  /// It is on its way to a store, and given back soon whatever its taker does.
  void SetMoving();

 private:
  friend class MemoryPool;
  void GiveBack();

  MemoryPool* pool_ = nullptr;
  Buffer memory_;
  size_t size_ = 0;
  std::thread::id taker_;
  bool moving_ = false;
};

/// Gives memory within a budget; who asks for more than is left waits, in order. What was given back is kept for who
/// asks for as much, within the budget too. Safe from several threads.
class MemoryPool {
 public:
  /// `allocator`: null: the heap.
  explicit MemoryPool(int64_t bytes, std::shared_ptr<BufferAllocator> allocator = nullptr)
      : budget_(bytes), allocator_(std::move(allocator)), mutex_(OfAllPools().mutex) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Waits until there is room. The budget is exceeded only where it would otherwise be waited for without end: where
  /// all that was taken is held by threads that wait for memory themselves: of this pool (one that writes many streams
  /// in turns, say), or of others whose holders wait likewise (copies in opposite directions between two stores).
  /// InvalidArgument for more than the whole budget, Aborted where `cancel` is set meanwhile, OutOfMemory where there
  /// is no such memory.
  Result<PooledMemory> Take(int64_t bytes, CancelFlag cancel = nullptr);
  /// Nothing where there is no room now, or others wait for it.
  std::optional<PooledMemory> TryTake(int64_t bytes);

  int64_t budget() const { return budget_; }
  int64_t taken() const;
  /// The most that was taken at a time.
  int64_t peak() const;

 private:
  friend class PooledMemory;
  /// Of all pools of the process: who holds memory of one may wait for that of another.
  struct Shared {
    std::mutex mutex;
    std::map<std::thread::id, const MemoryPool*> waiting;  ///< guarded by mutex
  };
  static Shared& OfAllPools();

  using Lock = std::unique_lock<std::mutex>;

  bool HasRoom(int64_t bytes) const { return taken_ + freeing_ + bytes <= budget_; }
  /// Whether nothing is given back before somebody in line gets what there is no room for. `asked`: pools of which that
  /// is being found out.
  bool IsStuck(std::set<const MemoryPool*>& asked) const;
  /// Nothing where there is no memory, of which nothing is counted then. An allocator may take its time: it works
  /// while `lock` is not held, and what it allocates is counted before, what it frees until that is done.
  std::optional<PooledMemory> Give(Lock& lock, int64_t bytes);
  Buffer Allocate(Lock& lock, int64_t bytes);
  /// Frees what is kept and has no room beside what is taken or being freed, and `bytes` more.
  void MakeRoom(Lock& lock, int64_t bytes);
  void Free(Lock& lock, Buffer buffer);
  /// `sign`: 1 or -1.
  void Count(const PooledMemory& memory, int sign);
  void GiveBack(PooledMemory& memory);
  void SetMoving(const PooledMemory& memory);
  void CountHeld(std::thread::id taker, int64_t bytes);

  const int64_t budget_;
  const std::shared_ptr<BufferAllocator> allocator_;
  std::mutex& mutex_;                        // that of Shared
  std::condition_variable given_back_;       // or free
  int64_t taken_ = 0;                        // guarded by mutex_
  int64_t freeing_ = 0;                      // neither taken nor kept any more, nor free yet; guarded by mutex_
  int64_t peak_ = 0;                         // guarded by mutex_
  int64_t moving_ = 0;                       // of what is taken; guarded by mutex_
  std::map<std::thread::id, int64_t> held_;  // of what is taken and not moving, by taker; guarded by mutex_
  std::list<int64_t> line_;                  // bytes that are waited for; guarded by mutex_
  int64_t kept_bytes_ = 0;                   // guarded by mutex_
  std::multimap<size_t, Buffer> kept_;       // guarded by mutex_
};

}  // namespace assay::storage
