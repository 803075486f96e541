#include "hub/blob_file.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/sync_folder.h"
#include "job/hub_cache.h"

namespace assay::hub {
namespace {

constexpr size_t kReadBytes = 1 << 20;
constexpr auto kLockPoll = std::chrono::milliseconds(100);

/// Of a file that the hub keeps in git, the hash is that of git's object: a header, then the content.
storage::ChecksumStream BeginChecksum(const HubFile& file) {
  storage::ChecksumStream checksum(file.checksum);
  if (file.checksum == storage::ChecksumKind::kSha1) {
    std::string header = fmt::format("blob {}", file.bytes);
    header.push_back('\0');
    checksum.Update(std::as_bytes(std::span(header)));
  }
  return checksum;
}

int64_t BytesOf(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 ? info.st_size : 0;
}

}  // namespace

BlobFile::BlobFile(std::string folder, const HubFile& file)
    : file_(file),
      path_(folder + "/blobs/" + file.blob),
      incomplete_(path_ + ".incomplete"),
      checksum_(BeginChecksum(file)) {}

Result<std::unique_ptr<BlobFile>> BlobFile::Open(const std::string& cache, const std::string& repository,
                                                 const HubFile& file, const std::function<void()>& on_wait) {
  const std::string folder = job::HubRepositoryFolder(cache, repository);
  const std::string locks = job::HubRepositoryFolder(cache + "/.locks", repository);
  ASSAY_RETURN_IF_ERROR(MakeDirectories(folder + "/blobs"));
  ASSAY_RETURN_IF_ERROR(MakeDirectories(locks));
  std::unique_ptr<BlobFile> blob(new BlobFile(folder, file));
  ASSAY_RETURN_IF_ERROR(blob->TakeLock(fmt::format("{}/{}.lock", locks, file.blob), on_wait));
  std::error_code ignored;
  const auto there = std::filesystem::file_size(blob->path_, ignored);
  blob->is_there_ = !ignored && static_cast<int64_t>(there) == file.bytes;
  if (!blob->is_there_) {
    ASSAY_RETURN_IF_ERROR(blob->OpenIncomplete());
  }
  return blob;
}

Status BlobFile::TakeLock(const std::string& path, const std::function<void()>& on_wait) {
  lock_ = OpenFile(path.c_str(), O_RDWR | O_CREAT, 0664);
  if (!lock_.valid()) {
    return ErrnoStatus(errno, "open", path);
  }
  for (bool told = false; ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return ErrnoStatus(errno, "lock", path);
    }
    if (InterruptRequested()) {
      return Status::Aborted("interrupted while another program was fetching the same file");
    }
    if (!std::exchange(told, true)) {
      on_wait();
    }
    std::this_thread::sleep_for(kLockPoll);
  }
  return Status::Ok();
}

Status BlobFile::OpenIncomplete() {
  fd_ = OpenFile(incomplete_.c_str(), O_RDWR | O_CREAT, 0644);
  if (!fd_.valid()) {
    return ErrnoStatus(errno, "write", incomplete_);
  }
  if (BytesOf(fd_.get()) > file_.bytes) {
    ASSAY_RETURN_IF_ERROR(Restart());
  }
  std::vector<std::byte> memory(kReadBytes);
  while (!InterruptRequested()) {
    const ssize_t count = RetryOnSignal([&] { return ::read(fd_.get(), memory.data(), memory.size()); });
    if (count < 0) {
      return ErrnoStatus(errno, "read", incomplete_);
    }
    if (count == 0) {
      return Status::Ok();
    }
    checksum_.Update(std::span(memory).first(static_cast<size_t>(count)));
    received_ += count;
  }
  return Status::Aborted("interrupted");
}

Status BlobFile::Restart() {
  checksum_ = BeginChecksum(file_);
  received_ = 0;
  return SeekBehindReceived();
}

/// A write that found no room may have left a part behind what counts.
Status BlobFile::SeekBehindReceived() {
  if (::ftruncate(fd_.get(), received_) != 0 || ::lseek(fd_.get(), received_, SEEK_SET) != received_) {
    return ErrnoStatus(errno, "write", incomplete_);
  }
  return Status::Ok();
}

Status BlobFile::Begin(const http::Response& head) {
  if (received_ == 0) {
    return SeekBehindReceived();
  }
  const std::string_view range = head.headers.Find("Content-Range").value_or("");
  if (head.status == 206 && range.starts_with(fmt::format("bytes {}-", received_))) {
    return SeekBehindReceived();
  }
  if (head.status != 200) {
    return Status::Io(
        fmt::format("{} was asked for from byte {} on; what comes is '{}'", file_.path, received_, range));
  }
  if (on_bytes_) {
    on_bytes_(-received_);
  }
  return Restart();  // it has no ranges
}

Status BlobFile::Consume(std::span<const std::byte> chunk) {
  if (received_ + static_cast<int64_t>(chunk.size()) > file_.bytes) {
    return Status::Io(fmt::format("{} is longer than the {} bytes that the hub listed", file_.path, file_.bytes));
  }
  if (!WriteAll(fd_.get(), chunk)) {
    return ErrnoStatus(errno, "write", incomplete_);
  }
  checksum_.Update(chunk);
  received_ += static_cast<int64_t>(chunk.size());
  if (on_bytes_) {
    on_bytes_(static_cast<int64_t>(chunk.size()));
  }
  return Status::Ok();
}

Status BlobFile::Publish() {
  const std::string found = checksum_.Finish().Hex();
  if (received_ != file_.bytes || BytesOf(fd_.get()) != file_.bytes || found != file_.blob) {
    std::remove(incomplete_.c_str());
    return Status::Io(fmt::format("{}: what came has the {} {}, but the hub lists {}; it was removed: fetch it again",
                                  file_.path, storage::NameOf(file_.checksum), found, file_.blob));
  }
  if (::fsync(fd_.get()) != 0) {
    return ErrnoStatus(errno, "write", incomplete_);
  }
  if (std::rename(incomplete_.c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(errno, "rename", incomplete_);
  }
  is_there_ = true;
  return SyncFolder(std::filesystem::path(path_).parent_path().string());
}

}  // namespace assay::hub
