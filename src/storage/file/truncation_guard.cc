#include "storage/file/truncation_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace assay::storage {
namespace {

constexpr int kSlots = 1024;

/// A guarded range. Written by guards, read by the handler, which may take no lock.
struct Slot {
  std::atomic<bool> taken = false;
  std::atomic<uintptr_t> begin = 0;
  std::atomic<uintptr_t> end = 0;  ///< 0: not ready
};

Slot slots[kSlots];
struct sigaction earlier;

bool IsGuarded(uintptr_t address) {
  for (const Slot& slot : slots) {
    if (address < slot.end.load(std::memory_order_acquire) && address >= slot.begin.load(std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void OnBusError(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
  if (!IsGuarded(address) ||
      ::mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    // The read is tried again and meets the handler that was there before.
    ::sigaction(SIGBUS, &earlier, nullptr);
  }
}

bool InstallHandler() {
  struct sigaction action = {};
  action.sa_sigaction = &OnBusError;
  action.sa_flags = SA_SIGINFO;
  return ::sigaction(SIGBUS, &action, &earlier) == 0;
}

}  // namespace

TruncationGuard::TruncationGuard(Bytes mapped) : slot_(-1) {
  static const bool installed = InstallHandler();
  for (int i = 0; installed && i < kSlots; ++i) {
    if (!slots[i].taken.exchange(true)) {
      const auto begin = reinterpret_cast<uintptr_t>(mapped.data());
      slots[i].begin.store(begin, std::memory_order_relaxed);
      slots[i].end.store(begin + mapped.size(), std::memory_order_release);
      slot_ = i;
      return;
    }
  }
}

TruncationGuard::~TruncationGuard() {
  if (slot_ >= 0) {
    slots[slot_].end.store(0, std::memory_order_release);
    slots[slot_].taken.store(false);
  }
}

}  // namespace assay::storage
