#include "shards/stream/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/process_identity.h"
#include "base/text.h"
#include "shards/format/digest.h"

namespace assay::shards {
namespace {

constexpr std::string_view kPrefix = "assay-";
constexpr std::string_view kSuffix = ".shard";
constexpr std::string_view kClaimSuffix = ".claim";
constexpr std::string_view kTemporarySuffix = ".part";
constexpr std::string_view kCacheMagic = "ASSAYCCH";
constexpr size_t kDigestChars = 32;
/// Magic, u64 bytes of content, XXH3-128 of the content in hexadecimal.
constexpr size_t kEndBytes = 8 + 8 + kDigestChars;

Result<std::string> EndOf(std::span<const std::byte> content) {
  ASSAY_ASSIGN_OR_RETURN(const std::string digest, HashHex("xxh3_128", std::array{content}));
  std::string end(kCacheMagic);
  const uint64_t bytes = content.size();
  end.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  return end + digest;
}

/// Whether the file at `path` ends as those of a cache do.
bool IsOurs(const std::string& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status = {};
  std::array<char, kEndBytes> end;
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size < static_cast<off_t>(kEndBytes) ||
      ::pread(fd.get(), end.data(), end.size(), status.st_size - static_cast<off_t>(kEndBytes)) !=
          static_cast<ssize_t>(end.size())) {
    return false;
  }
  uint64_t bytes = 0;
  std::memcpy(&bytes, end.data() + kCacheMagic.size(), sizeof(bytes));
  return std::string_view(end.data(), kCacheMagic.size()) == kCacheMagic &&
         bytes + kEndBytes == static_cast<uint64_t>(status.st_size);
}

struct CachedFile {
  std::string name;
  int64_t bytes = 0;
  double modified = 0;
  int64_t next_use = 0;
};

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  DIR* open = ::opendir(folder.c_str());
  for (const dirent* entry = open == nullptr ? nullptr : ::readdir(open); entry != nullptr; entry = ::readdir(open)) {
    names.emplace_back(entry->d_name);
  }
  if (open != nullptr) {
    ::closedir(open);
  }
  return names;
}

/// What a temporary file or a claim says whose it is.
std::string OwnMark() {
  return fmt::format("{}-{}", ::getpid(), ProcessStart());
}

bool OwnerIsGone(std::string_view mark) {
  const size_t dash = std::min(mark.find('-'), mark.size());
  return ProcessIsGone(mark.substr(0, dash), mark.substr(std::min(dash + 1, mark.size())));
}

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "write", path);
    }
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return Status::Ok();
}

}  // namespace

DiskCache::Claim::~Claim() {
  if (!path_.empty()) {
    ::unlink(path_.c_str());
  }
}

std::string DiskCache::PathOf(const std::string& name) const {
  return fmt::format("{}/{}{}{}", folder_, kPrefix, name, kSuffix);
}

Result<std::unique_ptr<DiskCache>> DiskCache::Open(const std::string& folder, int64_t limit_bytes) {
  if (const Status writable = CheckWritableDirectory(folder); !writable.ok()) {
    return writable.WithContext("the cache");
  }
  std::unique_ptr<DiskCache> cache(new DiskCache(folder, limit_bytes));
  cache->RemoveLeftovers();
  return cache;
}

void DiskCache::RemoveLeftovers() {
  for (const std::string& name : NamesIn(folder_)) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kTemporarySuffix)) {
      continue;
    }
    // "assay-NAME.shard.MARK.COUNT.part"
    const size_t behind = name.find(kSuffix);
    const size_t mark = behind == std::string::npos ? std::string::npos : behind + kSuffix.size() + 1;
    if (mark < name.size() && OwnerIsGone(std::string_view(name).substr(mark, name.find('.', mark) - mark))) {
      ::unlink((folder_ + "/" + name).c_str());
    }
  }
}

std::optional<Blob> DiskCache::Find(const std::string& name) {
  const std::string path = PathOf(name);
  if (!FileExists(path) || !IsOurs(path)) {
    return std::nullopt;
  }
  const auto mapped = MappedFile::Open(path);
  if (!mapped.ok() || (*mapped)->bytes().size() < kEndBytes) {
    return std::nullopt;  // another process removed it
  }
  const std::span<const std::byte> bytes = (*mapped)->bytes();
  const Blob content = {.owner = *mapped, .bytes = bytes.first(bytes.size() - kEndBytes)};
  const auto end = EndOf(content.bytes);
  if (!end.ok() || *end != Blob{.owner = {}, .bytes = bytes.last(kEndBytes)}.text()) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  return content;
}

void DiskCache::MakeRoom(int64_t bytes, const NextUse& next_use) {
  std::vector<CachedFile> files;
  int64_t total = 0;
  for (const std::string& file : NamesIn(folder_)) {
    const std::string path = folder_ + "/" + file;
    struct stat status = {};
    if (!file.starts_with(kPrefix) || !file.ends_with(kSuffix) || ::stat(path.c_str(), &status) != 0 || !IsOurs(path)) {
      continue;
    }
    const std::string name = file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
    files.push_back(
        {.name = name,
         .bytes = status.st_size,
         .modified = static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec),
         .next_use = next_use(name)});
    total += status.st_size;
  }
  std::ranges::sort(files, [](const CachedFile& a, const CachedFile& b) {
    return a.next_use != b.next_use ? a.next_use > b.next_use : a.modified < b.modified;
  });
  for (size_t i = 0; i < files.size() && total + bytes > limit_bytes_; ++i) {
    ::unlink(PathOf(files[i].name).c_str());
    total -= files[i].bytes;
  }
}

Status DiskCache::CheckTakes(int64_t bytes) const {
  return bytes + static_cast<int64_t>(kEndBytes) <= limit_bytes_
             ? Status::Ok()
             : Status::FailedPrecondition(fmt::format(
                   "a shard has {}, and the cache at {} may take {}: give it a higher limit",
                   FormatBytes(static_cast<double>(bytes)), folder_, FormatBytes(static_cast<double>(limit_bytes_))));
}

Status DiskCache::Put(const std::string& name, std::span<const std::byte> content, const NextUse& next_use) {
  ASSAY_RETURN_IF_ERROR(CheckTakes(static_cast<int64_t>(content.size())));
  MakeRoom(static_cast<int64_t>(content.size() + kEndBytes), next_use);
  static std::atomic<int> count = 0;
  const std::string path = PathOf(name);
  const std::string temporary = fmt::format("{}.{}.{}{}", path, OwnMark(), ++count, kTemporarySuffix);
  const FileDescriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) {
    return ErrnoStatus(errno, "create", temporary);
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string end, EndOf(content));
  Status written = WriteAll(fd.get(), Blob{.owner = {}, .bytes = content}.text(), path);
  written = written.ok() ? WriteAll(fd.get(), end, path) : written;
  if (written.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = ErrnoStatus(errno, "rename", temporary);
  }
  if (!written.ok()) {
    ::unlink(temporary.c_str());
    return written.WithContext("the cache");
  }
  return Status::Ok();
}

std::optional<DiskCache::Claim> DiskCache::TryClaim(const std::string& name) {
  const std::string path = PathOf(name) + std::string(kClaimSuffix);
  // A link that names its process: it appears with what it says.
  if (::symlink(OwnMark().c_str(), path.c_str()) == 0) {
    return Claim(path);
  }
  if (errno != EEXIST) {
    return Claim("");  // the folder takes no link, of anybody: there is nobody to wait for
  }
  std::array<char, 64> holder = {};
  const ssize_t length = ::readlink(path.c_str(), holder.data(), holder.size());
  if (length > 0 && OwnerIsGone(std::string_view(holder.data(), static_cast<size_t>(length)))) {
    ::unlink(path.c_str());
  }
  return std::nullopt;
}

}  // namespace assay::shards
