// Copy-on-write pages of files: what weights lie in that no process has for itself.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace assay::engine {

/// All of a file, mapped privately: writing into it changes neither the file nor what other processes see. Shared by
/// the tensors that lie in it.
class MappedPages : public std::enable_shared_from_this<MappedPages> {
 public:
  /// Throws StatusError with one line that names the file.
  static std::shared_ptr<const MappedPages> open(const std::string& path);
  /// Of an open file, which may be closed afterwards. `name` is for messages.
  static std::shared_ptr<const MappedPages> map(int fd, const std::string& name);
  /// Of such a file `size` bytes from `begin` on, which is a page's.
  static std::shared_ptr<const MappedPages> map(int fd, const std::string& name, size_t begin, size_t size);
  ~MappedPages();
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  std::string_view text() const { return {data_, size_}; }
  /// The bytes from `begin` on, which must be aligned to `dtype`. The pages live as long as the tensor.
  at::Tensor tensor(size_t begin, const std::vector<int64_t>& shape, at::ScalarType dtype) const;

 private:
  MappedPages(char* data, size_t size);

  char* data_;
  size_t size_;
};

/// Bytes of all that is mapped so now, process-wide.
int64_t mapped_bytes();

/// Whether `tensor` lies in mapped pages.
bool is_mapped(const at::Tensor& tensor);

/// Takes the whole pages inside `tensor` out of this process's memory when it lies in mapped ones; reading brings them
/// back. Nothing of `tensor` may have been written to: that would be lost.
void release_mapped_pages(const at::Tensor& tensor);

}  // namespace assay::engine
