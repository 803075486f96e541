#include "storage/bench/bench_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/text.h"

namespace assay::storage {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

/// A line such as "VmHWM:   1234 kB" of /proc/self/status, in bytes.
int64_t StatusBytes(std::string_view name) {
  const Result<std::string> text = ReadFile("/proc/self/status");
  const size_t at = text.ok() ? text->find(name) : std::string::npos;
  if (at == std::string::npos) {
    return 0;
  }
  const std::string_view rest = Trim(std::string_view(*text).substr(at + name.size()));
  int64_t kib = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), kib);
  return kib * 1024;
}

}  // namespace

Result<BenchMemory> BenchMemory::Allocate(int64_t bytes) {
  // One huge page more than needed, so that what is used can begin with one.
  const size_t mapped = (static_cast<size_t>(bytes) / kHugePageBytes + 2) * kHugePageBytes;
  void* memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Status::OutOfMemory("cannot take " + FormatBytes(static_cast<double>(bytes)) +
                               " for the benchmark: choose smaller objects");
  }
  ::madvise(memory, mapped, MADV_HUGEPAGE);
  const size_t skipped = kHugePageBytes - reinterpret_cast<uintptr_t>(memory) % kHugePageBytes;
  return BenchMemory({static_cast<std::byte*>(memory), mapped},
                     {static_cast<std::byte*>(memory) + skipped, static_cast<size_t>(bytes)});
}

BenchMemory::BenchMemory(BenchMemory&& other) noexcept
    : mapped_(std::exchange(other.mapped_, {})), bytes_(std::exchange(other.bytes_, {})) {}

BenchMemory::~BenchMemory() {
  if (!mapped_.empty()) {
    ::munmap(mapped_.data(), mapped_.size());
  }
}

void BenchMemory::FillRandom(uint64_t seed) const {
  uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (size_t i = 0; i < bytes_.size(); i += sizeof(state)) {
    // xorshift64* (Vigna 2016)
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    const uint64_t value = state * 0x2545f4914f6cdd1dULL;
    std::memcpy(bytes_.data() + i, &value, std::min(sizeof(value), bytes_.size() - i));
  }
}

void BenchMemory::Clear() const {
  std::memset(bytes_.data(), 0, bytes_.size());
}

PagesAhead::PagesAhead(std::vector<MutableBytes> memory)
    : thread_([memory = std::move(memory)](const std::stop_token& stop) {
        constexpr size_t kStepBytes = 2 * kHugePageBytes;
        for (MutableBytes rest : memory) {
          while (!rest.empty() && !stop.stop_requested()) {
            const MutableBytes step = rest.first(std::min(rest.size(), kStepBytes));
            if (::madvise(step.data(), step.size(), MADV_POPULATE_WRITE) != 0) {
              return;
            }
            rest = rest.subspan(step.size());
          }
        }
      }) {}

Status WarmMemory(int64_t bytes) {
  ASSAY_ASSIGN_OR_RETURN(const BenchMemory memory, BenchMemory::Allocate(bytes));
  memory.Clear();
  return Status::Ok();
}

double ProcessCpuSeconds() {
  struct rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

AnonymousMemoryWatch::AnonymousMemoryWatch()
    : start_bytes_(StatusBytes("RssAnon:")), peak_bytes_(start_bytes_), looks_([this](const std::stop_token& stop) {
        constexpr std::chrono::milliseconds kPause(5);
        while (!stop.stop_requested()) {
          peak_bytes_ = std::max(peak_bytes_.load(), StatusBytes("RssAnon:"));
          std::this_thread::sleep_for(kPause);
        }
      }) {}

int64_t AnonymousMemoryWatch::PeakBeyondBytes() const {
  return std::max(peak_bytes_.load(), StatusBytes("RssAnon:")) - start_bytes_;
}

RssWatch::RssWatch() {
  const FileDescriptor file = OpenFile("/proc/self/clear_refs", O_WRONLY);
  reset_ = file.valid() && ::write(file.get(), "5", 1) == 1;
  start_bytes_ = StatusBytes("VmRSS:");
}

std::optional<int64_t> RssWatch::PeakBeyondBytes() const {
  return reset_ ? std::optional(std::max<int64_t>(0, StatusBytes("VmHWM:") - start_bytes_)) : std::nullopt;
}

}  // namespace assay::storage
