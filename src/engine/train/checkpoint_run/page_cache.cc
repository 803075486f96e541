#include "engine/train/checkpoint_run/page_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/text.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

struct CachedBytes {
  int64_t all = 0;   ///< of files
  int64_t kept = 0;  ///< of them are in the page cache
};

/// Of `bytes` bytes of a file. Nothing is read: a mapping that nobody touches shows what is there.
int64_t bytes_in_page_cache(const FileDescriptor& file, size_t bytes, const std::string& path) {
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page_bytes - 1) / page_bytes);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) {
    throw StatusError(ErrnoStatus(errno, "map", path));
  }
  const int failed = ::mincore(mapped, bytes, pages.data()) == 0 ? 0 : errno;
  ::munmap(mapped, bytes);
  if (failed != 0) {
    throw StatusError(ErrnoStatus(failed, "ask what the page cache has of", path));
  }
  return std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }) *
         static_cast<int64_t>(page_bytes);
}

void drop_file(const std::string& path, CachedBytes& cached) {
  const FileDescriptor file = OpenFile(path.c_str(), O_RDONLY);
  struct stat info;
  if (!file.valid() || ::fstat(file.get(), &info) != 0 || ::fsync(file.get()) != 0) {
    throw StatusError(ErrnoStatus(errno, "write through", path));
  }
  const auto bytes = static_cast<size_t>(info.st_size);
  if (bytes == 0) {
    return;
  }
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  cached.all += info.st_size;
  cached.kept += bytes_in_page_cache(file, bytes, path);
}

CachedBytes drop_files(const std::string& folder) {
  CachedBytes cached;
  std::error_code failed;
  for (auto entry = std::filesystem::recursive_directory_iterator(folder, failed);
       !failed && entry != std::filesystem::recursive_directory_iterator(); entry.increment(failed)) {
    if (entry->is_regular_file(failed)) {
      drop_file(entry->path().string(), cached);
    }
  }
  if (failed) {
    throw StatusError(ErrnoStatus(failed.value(), "list", folder));
  }
  return cached;
}

}  // namespace

void drop_from_page_cache(const std::string& folder) {
  // Pages that are being written, or that another process has in use at this moment, go at a later try.
  constexpr int kTries = 30;
  constexpr int64_t kShareKept = 100;
  constexpr auto kPause = std::chrono::milliseconds(50);
  CachedBytes cached;
  for (int tries = 0; tries < kTries; ++tries) {
    cached = drop_files(folder);
    if (cached.kept <= cached.all / kShareKept) {
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
  throw StatusError(Status::Io(fmt::format(
      "the page cache keeps {} of {} in {}, which it was told to drop: loads from there are not cold "
      "(choose a folder on a disk, or clear_cache=False for warm ones)",
      FormatBytes(static_cast<double>(cached.kept)), FormatBytes(static_cast<double>(cached.all)), folder)));
}

}  // namespace assay::engine
