#include "base/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>

namespace assay {
namespace {

size_t PageBytes() {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

/// The pages that lie in the memory as a whole.
std::span<char> WholePagesOf(void* memory, size_t bytes) {
  const uintptr_t page = PageBytes();
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / page * page;
  return begin < end ? std::span(reinterpret_cast<char*>(begin), end - begin) : std::span<char>();
}

}  // namespace

void PreferHugePages(void* memory, size_t bytes) {
  const std::span<char> pages = WholePagesOf(memory, bytes);
  if (!pages.empty()) {
    ::madvise(pages.data(), pages.size(), MADV_HUGEPAGE);
  }
}

void TakePages(void* memory, size_t bytes) {
  const std::span<char> pages = WholePagesOf(memory, bytes);
#ifdef MADV_POPULATE_WRITE
  // A fault for each page takes half as long again.
  if (pages.empty() || ::madvise(pages.data(), pages.size(), MADV_POPULATE_WRITE) == 0) {
    return;
  }
#endif
  for (size_t at = 0; at < pages.size(); at += PageBytes()) {
    static_cast<volatile char*>(pages.data())[at] = 0;
  }
}

}  // namespace assay
