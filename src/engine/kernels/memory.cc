#include "engine/kernels/memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>

#include "engine/kernels/cuda/device.h"

namespace assay::engine {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kPage = 4096;
/// Smaller blocks go straight to malloc, which is fast for them.
constexpr size_t kSmallestCached = size_t{32} << 10;
/// From here on blocks are mapped, so that huge pages can back them.
constexpr size_t kSmallestMapped = size_t{4} << 20;
/// Live and cached bytes together may exceed the highest live bytes ever by this, or by a quarter of them: blocks of
/// one phase of a step (activations) rarely fit another (gradients), and without room both are mapped anew in every
/// step.
constexpr int64_t kLeastSlack = int64_t{32} << 20;
constexpr int64_t kSlackDivisor = 4;
/// Size classes: eight to each power of two, so at most an eighth of a block is wasted.
constexpr int kClassesPerOctave = 8;
constexpr int kClasses = 64 * kClassesPerOctave;
/// A request may take a cached block of up to this many classes above its own.
constexpr int kClassSearch = 3;

/// Stands right before the data of every block.
struct alignas(kAlignment) Header {
  size_t requested;
  size_t capacity;
  Header* class_next;  // free list of one size class: most recently freed first
  Header* class_previous;
  Header* newer;  // all cached blocks in the order they were freed
  Header* older;
  void* base;
};
static_assert(sizeof(Header) == kAlignment);

Header* header_of(void* data) {
  return static_cast<Header*>(data) - 1;
}
void* data_of(Header* header) {
  return header + 1;
}

int size_class(size_t bytes) {
  const int octave = std::bit_width(bytes - 1) - 1;
  const size_t step = (size_t{1} << octave) / kClassesPerOctave;
  return octave * kClassesPerOctave + static_cast<int>((bytes - (size_t{1} << octave) + step - 1) / step);
}

size_t class_bytes(int index) {
  const size_t octave = size_t{1} << (index / kClassesPerOctave);
  return octave + octave / kClassesPerOctave * (index % kClassesPerOctave);
}

/// Fresh memory for `capacity` bytes of data with a header before it; null when the system has none.
Header* acquire(size_t capacity) {
  if (capacity >= kSmallestMapped) {
    void* base = mmap(nullptr, capacity + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
      return nullptr;
    }
    madvise(base, capacity + kPage, MADV_HUGEPAGE);
    Header* header = header_of(static_cast<char*>(base) + kPage);
    header->base = base;
    return header;
  }
  void* base = nullptr;
  if (posix_memalign(&base, kAlignment, capacity + sizeof(Header)) != 0) {
    return nullptr;
  }
  auto* header = static_cast<Header*>(base);
  header->base = base;
  return header;
}

void release(Header* header) {
  if (header->capacity >= kSmallestMapped) {
    munmap(header->base, header->capacity + kPage);
  } else {
    std::free(header->base);
  }
}

/// Freed blocks, by size class and by age. Not thread-safe by itself.
class BlockCache {
 public:
  int64_t bytes() const { return bytes_; }

  void put(Header* header) {
    Header*& head = heads_[size_class(header->capacity)];
    header->class_previous = nullptr;
    header->class_next = head;
    if (head != nullptr) {
      head->class_previous = header;
    }
    head = header;
    header->newer = nullptr;
    header->older = newest_;
    (newest_ != nullptr ? newest_->newer : oldest_) = header;
    newest_ = header;
    bytes_ += static_cast<int64_t>(header->capacity);
  }

  Header* take(int wanted_class) {
    for (int index = wanted_class; index < std::min(kClasses, wanted_class + kClassSearch); ++index) {
      if (heads_[index] != nullptr) {
        return remove(heads_[index]);
      }
    }
    return nullptr;
  }

  Header* take_oldest() { return oldest_ == nullptr ? nullptr : remove(oldest_); }

 private:
  Header* remove(Header* header) {
    Header*& head = heads_[size_class(header->capacity)];
    (header->class_previous != nullptr ? header->class_previous->class_next : head) = header->class_next;
    if (header->class_next != nullptr) {
      header->class_next->class_previous = header->class_previous;
    }
    (header->newer != nullptr ? header->newer->older : newest_) = header->older;
    (header->older != nullptr ? header->older->newer : oldest_) = header->newer;
    bytes_ -= static_cast<int64_t>(header->capacity);
    return header;
  }

  std::array<Header*, kClasses> heads_{};
  Header* newest_ = nullptr;
  Header* oldest_ = nullptr;
  int64_t bytes_ = 0;
};

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
                       live_.load(), " bytes in use: the system has no more; lower the batch size or the length");
    }
    header->requested = bytes;
    return {data_of(header), data_of(header), &CountingAllocator::free_block, cpu};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &CountingAllocator::free_block; }
  void copy_data(void* destination, const void* source, size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }

  int64_t live() const { return live_.load(); }
  int64_t peak() const { return peak_.load(); }
  void reset_peak() { peak_ = live_.load(); }
  void set_budget(int64_t bytes) { budget_ = bytes; }

 private:
  static void free_block(void* data);

  void charge(int64_t bytes) {
    const int64_t live = live_.fetch_add(bytes) + bytes;
    const int64_t budget = budget_.load();
    if (budget > 0 && live > budget) {
      live_ -= bytes;
      TORCH_CHECK_WITH(OutOfMemoryError, false, "allocating ", bytes, " bytes of tensor memory with ", live - bytes,
                       " bytes in use exceeds the memory budget of ", budget,
                       " bytes: lower the batch size or the length, or raise the budget");
    }
    raise(peak_, live);
    raise(highest_, live);
  }

  static void raise(std::atomic<int64_t>& mark, int64_t value) {
    int64_t seen = mark.load();
    while (seen < value && !mark.compare_exchange_weak(seen, value)) {
    }
  }

  Header* find_block(size_t bytes) {
    if (bytes < kSmallestCached) {
      Header* header = acquire(bytes);
      if (header != nullptr) {
        header->capacity = bytes;
      }
      return header;
    }
    const int wanted_class = size_class(bytes);
    {
      const std::lock_guard lock(mutex_);
      if (Header* header = cache_.take(wanted_class); header != nullptr) {
        return header;
      }
      trim(static_cast<int64_t>(class_bytes(wanted_class)));
    }
    return acquire_or_empty_cache(class_bytes(wanted_class));
  }

  /// Gives back the longest unused blocks until `fresh` more bytes keep the footprint near the highest live bytes.
  void trim(int64_t fresh) {
    const int64_t highest = highest_.load();
    const int64_t bound = highest + std::max(kLeastSlack, highest / kSlackDivisor);
    while (cache_.bytes() > 0 && live_.load() + cache_.bytes() + fresh > bound) {
      release(cache_.take_oldest());
    }
  }

  Header* acquire_or_empty_cache(size_t capacity) {
    Header* header = acquire(capacity);
    if (header == nullptr) {
      const std::lock_guard lock(mutex_);
      while (Header* cached = cache_.take_oldest()) {
        release(cached);
      }
      header = acquire(capacity);
    }
    if (header != nullptr) {
      header->capacity = capacity;
    }
    return header;
  }

  std::mutex mutex_;
  BlockCache cache_;  // protected by mutex_
  std::atomic<int64_t> live_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> highest_{0};
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
  if (header->capacity < kSmallestCached) {
    std::free(header->base);
    return;
  }
  const std::lock_guard lock(self.mutex_);
  self.cache_.put(header);
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

int64_t LiveTensorBytes() {
  const auto on_device = cuda_tensor_bytes();
  return on_device ? on_device->live : allocator().live();
}

int64_t PeakTensorBytes() {
  const auto on_device = cuda_tensor_bytes();
  return on_device ? on_device->peak : allocator().peak();
}

void ResetPeakTensorBytes() {
  allocator().reset_peak();
  reset_cuda_peak();
}

}  // namespace assay::engine
