#include "engine/model/mapped_pages.h"

#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <iterator>
#include <map>
#include <mutex>

#include "base/file_descriptor.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

std::atomic<int64_t> all_mapped_bytes{0};

/// The stretches of address space that are mapped files now, by where they begin.
class MappedRanges {
 public:
  void add(const char* begin, size_t size) {
    const std::lock_guard lock(mutex_);
    sizes_[begin] = size;
  }
  void remove(const char* begin) {
    const std::lock_guard lock(mutex_);
    sizes_.erase(begin);
  }
  bool hold(const char* begin, size_t size) {
    const std::lock_guard lock(mutex_);
    const auto after = sizes_.upper_bound(begin);
    return after != sizes_.begin() && begin + size <= std::prev(after)->first + std::prev(after)->second;
  }

 private:
  std::mutex mutex_;
  std::map<const char*, size_t> sizes_;
};

MappedRanges& mapped_ranges() {
  static auto* ranges = new MappedRanges;  // never destroyed: tensors in static storage may outlive everything else
  return *ranges;
}

}  // namespace

std::shared_ptr<const MappedPages> MappedPages::open(const std::string& path) {
  const FileDescriptor file = OpenFile(path.c_str(), O_RDONLY);
  if (!file.valid()) {
    throw StatusError(ErrnoStatus(errno, "open", path));
  }
  return map(file.get(), path);
}

std::shared_ptr<const MappedPages> MappedPages::map(int fd, const std::string& name) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) {
    throw StatusError(ErrnoStatus(errno, "map", name));
  }
  return map(fd, name, 0, static_cast<size_t>(info.st_size));
}

std::shared_ptr<const MappedPages> MappedPages::map(int fd, const std::string& name, size_t begin, size_t size) {
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_PRIVATE | MAP_NORESERVE;
  void* pages = size > 0 ? ::mmap(nullptr, size, kProtection, kFlags, fd, static_cast<off_t>(begin)) : nullptr;
  if (pages == MAP_FAILED) {
    throw StatusError(ErrnoStatus(errno, "map", name));
  }
  return std::shared_ptr<const MappedPages>(new MappedPages(static_cast<char*>(pages), size));
}

MappedPages::MappedPages(char* data, size_t size) : data_(data), size_(size) {
  all_mapped_bytes += static_cast<int64_t>(size_);
  if (data_ != nullptr) {
    mapped_ranges().add(data_, size_);
  }
}

MappedPages::~MappedPages() {
  if (data_ != nullptr) {
    mapped_ranges().remove(data_);
    ::munmap(data_, size_);
  }
  all_mapped_bytes -= static_cast<int64_t>(size_);
}

at::Tensor MappedPages::tensor(size_t begin, const std::vector<int64_t>& shape, at::ScalarType dtype) const {
  return at::from_blob(data_ + begin, shape, [keep = shared_from_this()](void*) {}, at::TensorOptions().dtype(dtype));
}

int64_t mapped_bytes() {
  return all_mapped_bytes;
}

bool is_mapped(const at::Tensor& tensor) {
  return tensor.device().is_cpu() &&
         mapped_ranges().hold(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
}

void release_mapped_pages(const at::Tensor& tensor) {
  if (!is_mapped(tensor)) {
    return;
  }
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto data = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
  const uintptr_t begin = (data + page - 1) / page * page;
  const uintptr_t end = (data + tensor.nbytes()) / page * page;
  if (begin < end) {
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
}

}  // namespace assay::engine
