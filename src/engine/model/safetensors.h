// Weights in safetensors files (checkpoint/safetensors/safetensors_header.h), mapped.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "engine/model/causal_lm.h"
#include "engine/model/mapped_pages.h"

namespace assay::engine {

/// Where one tensor stands in a file.
struct TensorEntry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  size_t begin = 0;  ///< bytes from the start of the file
  size_t end = 0;
};

/// "BF16" and so on; throws StatusError for a dtype that the format has no name for.
std::string safetensors_dtype_name(at::ScalarType dtype);

/// A mapped safetensors file whose header has been checked in full: every tensor lies inside the file, none overlaps
/// another, every byte belongs to one, and each length is what dtype and shape say. Cheap to copy; the mapping lives as
/// long as a copy or one of its tensors does.
class SafetensorsFile {
 public:
  /// Throws StatusError with one line that names the file and, where there is one, the tensor.
  static SafetensorsFile open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, TensorEntry, std::less<>>& entries() const { return entries_; }
  /// The entry, or nullptr.
  const TensorEntry* find(std::string_view name) const;

  int64_t bytes() const;
  /// Whether its bytes are aligned to their dtype.
  static bool is_aligned(const TensorEntry& entry) { return entry.begin % c10::elementSize(entry.dtype) == 0; }

  /// The mapped bytes as a tensor, without a copy when they are aligned to their dtype. Pages are private: writing into
  /// the tensor changes neither the file nor other processes.
  at::Tensor tensor(const TensorEntry& entry) const;

 private:
  SafetensorsFile() = default;

  std::string path_;
  std::shared_ptr<const MappedPages> pages_;
  std::map<std::string, TensorEntry, std::less<>> entries_;
  std::map<std::string, std::string> metadata_;
};

/// Writes `tensors` (any device, any strides) to `path` with {"format": "pt"} as metadata, atomically. Throws
/// StatusError.
void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors);
/// The same, but nothing stands under `path` until the result is committed.
AtomicFile stage_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace assay::engine
