#include "engine/model/safetensors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "engine/model/safetensors_header.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

std::atomic<int64_t> mapped_bytes{0};

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

/// Tensor data begins at a multiple of this, so that vector loads of mapped weights cross no cache line needlessly.
constexpr size_t kDataAlignment = 64;

std::string build_header(const std::vector<NamedTensor>& tensors) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", safetensors_dtype_name(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, offset + tensor.nbytes()}}};
    offset += tensor.nbytes();
  }
  std::string text = header.dump();
  const size_t begin = sizeof(uint64_t) + text.size();
  text.append((kDataAlignment - begin % kDataAlignment) % kDataAlignment, ' ');
  return text;
}

std::string little_endian(uint64_t value) {
  std::string bytes(sizeof(value), '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  return bytes;
}

}  // namespace

/// The pages of a file, copy-on-write.
class SafetensorsFile::Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      throw StatusError(ErrnoStatus(errno, "open", path));
    }
    struct stat info{};
    const bool known = ::fstat(fd, &info) == 0;
    size_ = known ? static_cast<size_t>(info.st_size) : 0;
    void* pages =
        size_ > 0 ? ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0) : nullptr;
    const int error = errno;
    ::close(fd);
    if (!known || pages == MAP_FAILED) {
      throw StatusError(ErrnoStatus(error, "map", path));
    }
    data_ = static_cast<char*>(pages);
    mapped_bytes += static_cast<int64_t>(size_);
    mapped_ranges().add(data_, size_);
  }

  ~Mapping() {
    if (data_ != nullptr) {
      mapped_ranges().remove(data_);
      ::munmap(data_, size_);
      mapped_bytes -= static_cast<int64_t>(size_);
    }
  }

  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::string_view text() const { return {data_, size_}; }
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file;
  file.path_ = path;
  file.mapping_ = std::make_shared<const Mapping>(path);
  SafetensorsHeader header = parse_safetensors_header(file.mapping_->text(), path);
  file.entries_ = std::move(header.entries);
  file.metadata_ = std::move(header.metadata);
  return file;
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second;
}

int64_t SafetensorsFile::bytes() const {
  return static_cast<int64_t>(mapping_->text().size());
}

at::Tensor SafetensorsFile::tensor(const TensorEntry& entry) const {
  char* const data = mapping_->data() + entry.begin;
  const auto options = at::TensorOptions().dtype(entry.dtype);
  if (!is_aligned(entry)) {
    at::Tensor copy = at::empty(entry.shape, options);
    std::memcpy(copy.mutable_data_ptr(), data, entry.end - entry.begin);
    return copy;
  }
  return at::from_blob(data, entry.shape, [keep = mapping_](void*) {}, options);
}

AtomicFile stage_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors) {
  const std::string header = build_header(tensors);
  AtomicFile file = value_or_throw(AtomicFile::Create(path));
  throw_if_error(file.Write(little_endian(header.size())));
  throw_if_error(file.Write(header));
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor dense = tensor.detach().cpu().contiguous();
    throw_if_error(
        file.Write(std::as_bytes(std::span(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes()))));
  }
  throw_if_error(file.Sync());
  return file;
}

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors) {
  throw_if_error(stage_safetensors(path, tensors).Commit());
}

int64_t mapped_safetensors_bytes() {
  return mapped_bytes;
}

void release_mapped_pages(const at::Tensor& tensor) {
  const auto* data = static_cast<const char*>(tensor.const_data_ptr());
  if (!mapped_ranges().hold(data, tensor.nbytes())) {
    return;
  }
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + tensor.nbytes()) / page * page;
  if (begin < end) {
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
}

}  // namespace assay::engine
