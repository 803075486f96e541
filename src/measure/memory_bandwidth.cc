#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <limits>
#include <thread>
#include <utility>
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
    const size_t size = static_cast<size_t>(array_bytes) / sizeof(double) / kBlock * kBlock;
    const size_t mapped_bytes = 3 * (size + kStagger) * sizeof(double);
    void* memory = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return ErrnoStatus(errno, "allocate",
                         fmt::format("{} for the memory test", FormatBytes(static_cast<double>(mapped_bytes))));
    }
    ::madvise(memory, mapped_bytes, MADV_HUGEPAGE);
    return Arrays(static_cast<double*>(memory), size);
  }
  Arrays(Arrays&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), size_(other.size_) {}
  Arrays& operator=(Arrays&&) = delete;
  ~Arrays() {
    if (memory_ != nullptr) {
      ::munmap(memory_, 3 * (size_ + kStagger) * sizeof(double));
    }
  }

  Share ShareOf(int64_t thread, int64_t threads) const {
    const auto boundary = [&](int64_t t) {
      return size_ / kBlock * static_cast<size_t>(t) / static_cast<size_t>(threads) * kBlock;
    };
    const size_t begin = boundary(thread);
    const size_t distance = size_ + kStagger;
    return {memory_ + begin, memory_ + distance + begin, memory_ + 2 * distance + begin, boundary(thread + 1) - begin};
  }

 private:
  // Arrays that lie a power of two apart would meet in the same cache sets and memory banks.
  static constexpr size_t kStagger = 5 * 4096 / sizeof(double) + kBlock;

  Arrays(double* memory, size_t size) : memory_(memory), size_(size) {}
  double* memory_;
  size_t size_;  // of each array, in doubles
};

struct Timings {
  std::vector<double> best_seconds;  // of each kernel
  int64_t rounds = 0;
};

// Runs the kernels one after the other, each on all threads' shares at once, round after round until the time is up; at
// least three rounds, unless these take twice the time. Rounds share out what else the machine does.
Timings RunRounds(const Arrays& arrays, int64_t threads, const std::vector<Kernel>& kernels, double seconds) {
  constexpr int64_t kLeastRounds = 3;
  Timings timings{std::vector<double>(kernels.size(), std::numeric_limits<double>::infinity())};
  size_t next = 0;
  bool running = false;
  bool done = false;
  const double start = MonotonicSeconds();
  double begin = 0;
  const auto at_barrier = [&]() noexcept {
    const double now = MonotonicSeconds();
    if (running) {
      timings.best_seconds[next] = std::min(timings.best_seconds[next], now - begin);
      next = (next + 1) % kernels.size();
      timings.rounds += next == 0 ? 1 : 0;
      const double spent = now - start;
      done = timings.rounds > 0 && (spent > 2 * seconds || (spent > seconds && timings.rounds >= kLeastRounds));
    }
    running = !running;
    begin = MonotonicSeconds();
  };
  std::barrier barrier(static_cast<ptrdiff_t>(threads), at_barrier);
  std::atomic<double> sink = 0;
  const auto work = [&](int64_t thread) {
    const Share share = arrays.ShareOf(thread, threads);
    barrier.arrive_and_wait();
    while (!done) {
      sink.store(kernels[next](share), std::memory_order_relaxed);
      barrier.arrive_and_wait();  // ends a run
      barrier.arrive_and_wait();  // begins the next
    }
  };
  std::vector<std::jthread> team;
  for (int64_t thread = 1; thread < threads; ++thread) {
    team.emplace_back(work, thread);
  }
  work(0);
  return timings;
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
  RunRounds(arrays, result.threads, {FillPlain}, 0);

  const Kernels kernels = ChooseKernels();
  const Timings timings =
      RunRounds(arrays, result.threads, {kernels.read, kernels.copy, kernels.triad}, 0.75 * budget_seconds);
  const auto gb_per_s = [&](size_t kernel, double arrays_moved) {
    return arrays_moved * static_cast<double>(result.array_bytes) / timings.best_seconds[kernel] / 1e9;
  };
  result.read_gb_per_s = gb_per_s(0, 1);
  result.copy_gb_per_s = gb_per_s(1, 2);
  result.triad_gb_per_s = gb_per_s(2, 3);
  result.repetitions = timings.rounds;
  result.method = fmt::format("three arrays of {}, {} thread{}, {}, best of {} passes",
                              FormatBytes(static_cast<double>(result.array_bytes)), result.threads,
                              result.threads == 1 ? "" : "s", kernels.stores, result.repetitions);
  return result;
}

}  // namespace assay::measure
