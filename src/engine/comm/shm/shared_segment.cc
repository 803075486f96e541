#include "engine/comm/shm/shared_segment.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "engine/comm/communicator.h"

namespace assay::engine {
namespace {

[[noreturn]] void fail(const std::string& attempt) {
  throw CommError(
      fmt::format("{}: {} (ranks of one machine must run as one user in one container; --comm gloo does "
                  "without shared memory)",
                  attempt, std::strerror(errno)));
}

struct stat status_of(const FileDescriptor& segment) {
  struct stat status{};
  if (::fstat(segment.get(), &status) != 0) {
    fail("cannot look at shared memory");
  }
  return status;
}

int64_t inode_of(const FileDescriptor& segment) {
  return static_cast<int64_t>(status_of(segment).st_ino);
}

}  // namespace

FileDescriptor create_segment(const char* name, size_t bytes) {
  FileDescriptor segment(::memfd_create(name, MFD_CLOEXEC));
  if (!segment.valid() || ::ftruncate(segment.get(), static_cast<off_t>(bytes)) != 0) {
    fail(fmt::format("cannot create {} bytes of shared memory", bytes));
  }
  return segment;
}

SegmentAddress address_of(const FileDescriptor& segment) {
  return {.pid = ::getpid(), .fd = segment.get(), .inode = inode_of(segment)};
}

FileDescriptor open_segment(const SegmentAddress& address, const std::string& owner) {
  const std::string path = fmt::format("/proc/{}/fd/{}", address.pid, address.fd);
  FileDescriptor segment = OpenFile(path.c_str(), O_RDWR);
  if (segment.valid() ? inode_of(segment) != address.inode : errno == ENOENT) {
    throw CommError(fmt::format("{} (process {}) has ended while the ranks met", owner, address.pid));
  }
  if (!segment.valid()) {
    fail(fmt::format("cannot open the shared memory of {} (process {})", owner, address.pid));
  }
  return segment;
}

SharedMapping::SharedMapping(const FileDescriptor& segment) {
  const auto size = static_cast<size_t>(status_of(segment).st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, segment.get(), 0);
  if (memory == MAP_FAILED) {
    fail(fmt::format("cannot map {} bytes of shared memory", size));
  }
  bytes_ = {static_cast<std::byte*>(memory), size};
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (!bytes_.empty()) {
    ::munmap(bytes_.data(), bytes_.size());
  }
}

}  // namespace assay::engine
