#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/text.h"
#include "measure/ceilings.h"

namespace assay::measure {
namespace {

constexpr double kMib = 1048576;
constexpr int64_t kBlockBytes = 4 << 20;
constexpr int64_t kFirstBytes = 16 << 20;
constexpr int64_t kMostBytes = int64_t{2} << 30;

// A block aligned for O_DIRECT, of bytes that no disk can compress.
class Block {
 public:
  Block() : data_(static_cast<uint64_t*>(std::aligned_alloc(4096, kBlockBytes)), &std::free) {
    std::mt19937_64 random(42);
    std::generate(data_.get(), data_.get() + kBlockBytes / sizeof(uint64_t), random);
  }
  void* data() { return data_.get(); }

 private:
  std::unique_ptr<uint64_t, decltype(&std::free)> data_;
};

// Removes the file it names.
class ScopedFile {
 public:
  explicit ScopedFile(std::string path) : path_(std::move(path)) {}
  ScopedFile(const ScopedFile&) = delete;
  ScopedFile& operator=(const ScopedFile&) = delete;
  ~ScopedFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Seconds to create the file, write `bytes` and sync them.
Result<double> TimeWrite(const std::string& path, int64_t bytes, Block& block) {
  const double begin = MonotonicSeconds();
  const FileDescriptor fd = OpenFile(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!fd.valid()) {
    return ErrnoStatus(errno, "write", path);
  }
  for (int64_t written = 0; written < bytes;) {
    const auto size = static_cast<size_t>(std::min(kBlockBytes, bytes - written));
    const ssize_t n = RetryOnSignal([&] { return ::write(fd.get(), block.data(), size); });
    if (n < 0) {
      return ErrnoStatus(errno, "write", path);
    }
    written += n;
  }
  if (::fsync(fd.get()) != 0) {
    return ErrnoStatus(errno, "sync", path);
  }
  return MonotonicSeconds() - begin;
}

int64_t FreeBytes(const std::string& folder) {
  struct statvfs info;
  return ::statvfs(folder.c_str(), &info) == 0 ? static_cast<int64_t>(info.f_bavail * info.f_frsize) : 0;
}

bool IsInMemory(const std::string& folder) {
  struct statfs info;
  return ::statfs(folder.c_str(), &info) == 0 && (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

// Writes ever larger files until the next would not fit in the time or the space; the largest counts, since it is the
// least affected by what happens once.
Status WriteWithinBudget(const std::string& path, double budget_seconds, int64_t space_bytes, DiskSpeed& speed) {
  Block block;
  double left = budget_seconds;
  for (int64_t bytes = kFirstBytes; bytes <= std::min(kMostBytes, space_bytes); bytes *= 2) {
    ASSAY_ASSIGN_OR_RETURN(const double seconds, TimeWrite(path, bytes, block));
    speed.file_bytes = bytes;
    speed.write_mib_per_s = static_cast<double>(bytes) / kMib / seconds;
    left -= seconds;
    if (left < 2 * seconds) {
      break;
    }
  }
  return Status::Ok();
}

// Opens around the page cache where the file system can; else after asking for the file to be dropped from it.
FileDescriptor OpenCold(const std::string& path, DiskSpeed& speed) {
  const FileDescriptor cached = OpenFile(path.c_str(), O_RDONLY);
  if (cached.valid()) {
    ::posix_fadvise(cached.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  FileDescriptor direct = OpenFile(path.c_str(), O_RDONLY | O_DIRECT);
  speed.direct_read = direct.valid();
  return direct.valid() ? std::move(direct) : OpenFile(path.c_str(), O_RDONLY);
}

Status ReadWithinBudget(const std::string& path, double budget_seconds, DiskSpeed& speed) {
  Block block;
  const FileDescriptor fd = OpenCold(path, speed);
  if (!fd.valid()) {
    return ErrnoStatus(errno, "open", path);
  }
  const double begin = MonotonicSeconds();
  int64_t bytes = 0;
  while (bytes < speed.file_bytes && (bytes == 0 || MonotonicSeconds() - begin < budget_seconds)) {
    const ssize_t n = RetryOnSignal([&] { return ::read(fd.get(), block.data(), kBlockBytes); });
    if (n <= 0) {
      return ErrnoStatus(n < 0 ? errno : EIO, "read", path);
    }
    bytes += n;
  }
  speed.read_mib_per_s = static_cast<double>(bytes) / kMib / (MonotonicSeconds() - begin);
  return Status::Ok();
}

std::string DescribeMethod(const DiskSpeed& speed) {
  const char* medium = IsInMemory(speed.folder) ? "; the folder is in memory (tmpfs), not on a disk" : "";
  const char* read = speed.direct_read ? "read by O_DIRECT" : "read after the page cache was told to drop it";
  return fmt::format("one file of {}, written in blocks of 4 MiB with one fsync, {}{}",
                     FormatBytes(static_cast<double>(speed.file_bytes)), read, medium);
}

}  // namespace

Result<DiskSpeed> MeasureDisk(const std::string& folder, double budget_seconds) {
  ASSAY_RETURN_IF_ERROR(CheckWritableDirectory(folder));
  const int64_t space_bytes = FreeBytes(folder) / 4;
  if (space_bytes < kFirstBytes) {
    return Status::Io(
        fmt::format("cannot measure the disk under {}: less than {} is free (free some space, or name "
                    "another folder)",
                    folder, FormatBytes(4.0 * kFirstBytes)));
  }
  DiskSpeed speed;
  speed.folder = folder;
  const ScopedFile file(folder + "/.assay-disk-speed-" + RandomUid());
  ASSAY_RETURN_IF_ERROR(WriteWithinBudget(file.path(), 0.6 * budget_seconds, space_bytes, speed));
  ASSAY_RETURN_IF_ERROR(ReadWithinBudget(file.path(), 0.3 * budget_seconds, speed));
  speed.method = DescribeMethod(speed);
  return speed;
}

}  // namespace assay::measure
