// An owned file descriptor, and system calls that go on after a signal.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

namespace assay {

/// Repeats `call` while a signal interrupts it.
template <typename Call>
auto RetryOnSignal(Call call) {
  auto value = call();
  while (value == -1 && errno == EINTR) {
    value = call();
  }
  return value;
}

/// Closes the descriptor it holds. Movable; -1 is none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~FileDescriptor() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset(int fd = -1) {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    fd_ = fd;
  }

 private:
  int fd_;
};

/// Opens `path` close-on-exec; invalid with errno set on failure.
inline FileDescriptor OpenFile(const char* path, int flags, mode_t mode = 0666) {
  return FileDescriptor(RetryOnSignal([&] { return ::open(path, flags | O_CLOEXEC, mode); }));
}

/// Writes all of `bytes`; false with errno set on failure.
inline bool WriteAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = RetryOnSignal([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (written < 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace assay
