#include "engine/kernels/memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "engine/kernels/block_arena.h"
#include "engine/kernels/cuda/device.h"

namespace assay::engine {
namespace {

constexpr size_t kAlignment = 64;
/// Smaller blocks go straight to malloc, which is fast for them.
constexpr size_t kSmallestInArena = size_t{32} << 10;
/// Address space for the arena, in multiples of the machine's memory: it costs nothing, and leaves room for holes.
constexpr size_t kReservedPerPhysical = 4;

/// Stands right before the data of every block.
struct alignas(kAlignment) Header {
  size_t requested;
  bool in_arena;
};
static_assert(sizeof(Header) == kAlignment);

Header* header_of(void* data) {
  return static_cast<Header*>(data) - 1;
}
void* data_of(Header* header) {
  return header + 1;
}

size_t physical_bytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
}

/// libtorch wants the context of a DataPtr to equal its data and a raw deleter (oneDNN's scratch comes that way), so
/// everything about a block is found in the header before its data.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::kCPU);
    if (bytes == 0) {
      return {nullptr, nullptr, &CountingAllocator::free_block, cpu};
    }
    charge(static_cast<int64_t>(bytes));
    Header* header = find_block(bytes);
    if (header == nullptr) {
      live_ -= static_cast<int64_t>(bytes);
      TORCH_CHECK_WITH(OutOfMemoryError, false, "allocating ", bytes, " bytes of tensor memory failed with ",
                       live_.load(), " bytes in use: the system has no more; use smaller batches");
    }
    return {data_of(header), data_of(header), &CountingAllocator::free_block, cpu};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &CountingAllocator::free_block; }
  void copy_data(void* destination, const void* source, size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }

  void charge(int64_t bytes) {
    const int64_t live = live_.fetch_add(bytes) + bytes;
    const int64_t budget = budget_.load();
    if (bytes > 0 && budget > 0 && live > budget) {
      live_ -= bytes;
      TORCH_CHECK_WITH(OutOfMemoryError, false, "allocating ", bytes, " bytes of tensor memory with ", live - bytes,
                       " bytes in use exceeds the memory budget of ", budget,
                       " bytes: use smaller batches, or raise the budget");
    }
    raise(peak_, live);
  }

  int64_t live() const { return live_.load(); }
  int64_t peak() const { return peak_.load(); }
  void reset_peak() { peak_ = live_.load(); }
  void set_budget(int64_t bytes) { budget_ = bytes; }

 private:
  static void free_block(void* data);

  static void raise(std::atomic<int64_t>& mark, int64_t value) {
    int64_t seen = mark.load();
    while (seen < value && !mark.compare_exchange_weak(seen, value)) {
    }
  }

  Header* find_block(size_t bytes) {
    const bool in_arena = bytes >= kSmallestInArena;
    void* block = in_arena ? take_from_arena(bytes + sizeof(Header)) : nullptr;
    if (!in_arena && posix_memalign(&block, kAlignment, bytes + sizeof(Header)) != 0) {
      return nullptr;
    }
    return block == nullptr ? nullptr : new (block) Header{bytes, in_arena};
  }

  void* take_from_arena(size_t bytes) {
    const std::lock_guard lock(mutex_);
    return arena_.take(bytes);
  }

  std::mutex mutex_;
  BlockArena arena_{kReservedPerPhysical * physical_bytes()};  // protected by mutex_
  std::atomic<int64_t> live_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> budget_{0};
};

/// The one instance, never destroyed: tensors in static storage may outlive everything else.
CountingAllocator& allocator() {
  static auto* instance = new CountingAllocator;
  return *instance;
}

void CountingAllocator::free_block(void* data) {
  if (data == nullptr) {
    return;
  }
  CountingAllocator& self = allocator();
  Header* header = header_of(data);
  self.live_ -= static_cast<int64_t>(header->requested);
  if (!header->in_arena) {
    std::free(header);
    return;
  }
  const std::lock_guard lock(self.mutex_);
  self.arena_.give(header, header->requested + sizeof(Header));
}

}  // namespace

void InstallCountingAllocator() {
  constexpr uint8_t kHighestPriority = 255;
  c10::SetCPUAllocator(&allocator(), kHighestPriority);
}

void SetMemoryBudget(int64_t bytes, c10::Device device) {
  if (device.is_cuda()) {
    set_cuda_budget(bytes, device);
  } else {
    allocator().set_budget(bytes);
  }
}

void ChargeTensorBytes(int64_t bytes) {
  allocator().charge(bytes);
}

int64_t LiveTensorBytes() {
  const auto on_device = cuda_tensor_bytes();
  return on_device ? on_device->live : allocator().live();
}

int64_t PeakTensorBytes() {
  const auto on_device = cuda_tensor_bytes();
  return on_device ? on_device->peak : allocator().peak();
}

int64_t PeakReservedBytes() {
  const auto on_device = cuda_tensor_bytes();
  return on_device ? on_device->reserved_peak : 0;
}

void ResetPeakTensorBytes() {
  allocator().reset_peak();
  reset_cuda_peak();
}

}  // namespace assay::engine
