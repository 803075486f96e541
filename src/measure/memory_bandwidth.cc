#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <functional>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/text.h"
#include "measure/ceilings.h"
#include "measure/machine.h"

namespace assay::measure {
namespace {

// One thread's share of the three arrays. Sizes are multiples of kBlock; starts are aligned to cache lines.
struct Share {
  double* a;
  double* b;
  double* c;
  size_t size;
};

constexpr size_t kBlock = 32;
constexpr double kScale = 3.0;

using Kernel = double (*)(const Share&);  // what it returns keeps the compiler from leaving the work out

double FillPlain(const Share& share) {
  for (size_t i = 0; i < share.size; ++i) {
    share.a[i] = 1.0;
    share.b[i] = 2.0;
    share.c[i] = 0.5;
  }
  return share.a[0];
}

double ReadPlain(const Share& share) {
  double sums[8] = {};
  for (size_t i = 0; i < share.size; i += 8) {
    for (size_t k = 0; k < 8; ++k) {
      sums[k] += share.a[i + k];
    }
  }
  return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}

double CopyPlain(const Share& share) {
  std::copy(share.b, share.b + share.size, share.a);
  return share.a[0];
}

double TriadPlain(const Share& share) {
  for (size_t i = 0; i < share.size; ++i) {
    share.a[i] = share.b[i] + kScale * share.c[i];
  }
  return share.a[0];
}

#if defined(__x86_64__)
#define ASSAY_TARGET_AVX2 __attribute__((target("avx2,fma")))

ASSAY_TARGET_AVX2 double ReadAvx2(const Share& share) {
  __m256d sums[8] = {};
  for (size_t i = 0; i < share.size; i += kBlock) {
    for (size_t k = 0; k < 8; ++k) {
      sums[k] = _mm256_add_pd(sums[k], _mm256_load_pd(share.a + i + 4 * k));
    }
  }
  __m256d sum = sums[0];
  for (size_t k = 1; k < 8; ++k) {
    sum = _mm256_add_pd(sum, sums[k]);
  }
  alignas(32) double lanes[4];
  _mm256_store_pd(lanes, sum);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

// Non-temporal stores: the line that is overwritten is not read first.
ASSAY_TARGET_AVX2 double CopyAvx2(const Share& share) {
  for (size_t i = 0; i < share.size; i += 4) {
    _mm256_stream_pd(share.a + i, _mm256_load_pd(share.b + i));
  }
  _mm_sfence();
  return share.a[0];
}

ASSAY_TARGET_AVX2 double TriadAvx2(const Share& share) {
  const __m256d scale = _mm256_set1_pd(kScale);
  for (size_t i = 0; i < share.size; i += 4) {
    const __m256d product = _mm256_fmadd_pd(scale, _mm256_load_pd(share.c + i), _mm256_load_pd(share.b + i));
    _mm256_stream_pd(share.a + i, product);
  }
  _mm_sfence();
  return share.a[0];
}
#endif

struct Kernels {
  Kernel read;
  Kernel copy;
  Kernel triad;
  const char* stores;
};

Kernels ChooseKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {ReadAvx2, CopyAvx2, TriadAvx2, "non-temporal AVX2 stores"};
  }
#endif
  return {ReadPlain, CopyPlain, TriadPlain, "plain stores"};
}

// Anonymous memory for the three arrays, on huge pages where the system gives them.
class Arrays {
 public:
  static Result<Arrays> Allocate(int64_t array_bytes) {
    const auto total = static_cast<size_t>(3 * array_bytes);
    void* memory = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return ErrnoStatus(errno, "allocate",
                         fmt::format("{} for the memory test", FormatBytes(static_cast<double>(total))));
    }
    ::madvise(memory, total, MADV_HUGEPAGE);
    return Arrays(static_cast<double*>(memory), static_cast<size_t>(array_bytes) / sizeof(double));
  }
  Arrays(Arrays&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), size_(other.size_) {}
  Arrays& operator=(Arrays&&) = delete;
  ~Arrays() {
    if (memory_ != nullptr) {
      ::munmap(memory_, 3 * size_ * sizeof(double));
    }
  }

  Share ShareOf(int64_t thread, int64_t threads) const {
    const auto boundary = [&](int64_t t) {
      return size_ / kBlock * static_cast<size_t>(t) / static_cast<size_t>(threads) * kBlock;
    };
    const size_t begin = boundary(thread);
    return {memory_ + begin, memory_ + size_ + begin, memory_ + 2 * size_ + begin, boundary(thread + 1) - begin};
  }

 private:
  Arrays(double* memory, size_t size) : memory_(memory), size_(size) {}
  double* memory_;
  size_t size_;  // of each array, in doubles
};

struct Timing {
  double best_seconds = std::numeric_limits<double>::infinity();
  int64_t repetitions = 0;
};

// Runs `kernel` on every thread's share, all at once, again and again until the time is up; at least
// `min_repetitions` times unless that takes twice the time.
Timing RunOnAllThreads(const Arrays& arrays, int64_t threads, Kernel kernel, double seconds, int64_t min_repetitions) {
  Timing timing;
  bool running = false;
  bool done = false;
  const double start = MonotonicSeconds();
  double begin = 0;
  const auto at_barrier = [&]() noexcept {
    const double now = MonotonicSeconds();
    if (running) {
      timing.best_seconds = std::min(timing.best_seconds, now - begin);
      ++timing.repetitions;
      const double spent = now - start;
      done = spent > 2 * seconds || (spent > seconds && timing.repetitions >= min_repetitions);
    }
    running = !running;
    begin = now;
  };
  std::barrier barrier(static_cast<ptrdiff_t>(threads), at_barrier);
  std::atomic<double> sink = 0;
  const auto work = [&](int64_t thread) {
    const Share share = arrays.ShareOf(thread, threads);
    barrier.arrive_and_wait();
    while (!done) {
      sink.store(kernel(share), std::memory_order_relaxed);
      barrier.arrive_and_wait();  // ends a repetition
      barrier.arrive_and_wait();  // begins the next
    }
  };
  std::vector<std::jthread> team;
  for (int64_t thread = 1; thread < threads; ++thread) {
    team.emplace_back(work, thread);
  }
  work(0);
  return timing;
}

// STREAM's rule: four times the last-level caches at least. A virtual machine may not tell how large these are.
int64_t ChooseArrayBytes(const MachineInfo& machine) {
  constexpr int64_t kLeast = int64_t{128} << 20;
  constexpr int64_t kMost = int64_t{2} << 30;
  const int64_t wanted = std::clamp(4 * machine.l3_total_bytes, kLeast, kMost);
  const int64_t affordable = std::max<int64_t>(machine.memory_available_bytes / 8, int64_t{8} << 20);
  constexpr int64_t kPage = int64_t{2} << 20;
  return std::min(wanted, affordable) / kPage * kPage;
}

}  // namespace

Result<MemoryBandwidth> MeasureMemoryBandwidth(double budget_seconds, int64_t threads, int64_t array_bytes) {
  MemoryBandwidth result;
  result.threads = threads > 0 ? threads : UsableCores();
  result.array_bytes = array_bytes > 0 ? array_bytes : ChooseArrayBytes(DescribeMachine());
  ASSAY_ASSIGN_OR_RETURN(const Arrays arrays, Arrays::Allocate(result.array_bytes));
  // Each thread touches its own share first, so that its pages are near it.
  RunOnAllThreads(arrays, result.threads, FillPlain, 0, 1);

  const Kernels kernels = ChooseKernels();
  result.repetitions = std::numeric_limits<int64_t>::max();
  const auto best_rate = [&](Kernel kernel, double arrays_moved) {
    const Timing timing = RunOnAllThreads(arrays, result.threads, kernel, budget_seconds / 4, 3);
    result.repetitions = std::min(result.repetitions, timing.repetitions);
    return arrays_moved * static_cast<double>(result.array_bytes) / timing.best_seconds / 1e9;
  };
  result.read_gb_per_s = best_rate(kernels.read, 1);
  result.copy_gb_per_s = best_rate(kernels.copy, 2);
  result.triad_gb_per_s = best_rate(kernels.triad, 3);
  result.method = fmt::format("three arrays of {}, {} thread{}, {}, best of {} or more passes",
                              FormatBytes(static_cast<double>(result.array_bytes)), result.threads,
                              result.threads == 1 ? "" : "s", kernels.stores, result.repetitions);
  return result;
}

}  // namespace assay::measure
