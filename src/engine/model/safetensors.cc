#include "engine/model/safetensors.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/files.h"
#include "checkpoint/safetensors/safetensors_header.h"
#include "engine/model/element_types.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

TensorEntry entry_of(checkpoint::SafetensorsEntry entry) {
  const at::ScalarType dtype = scalar_type_of(entry.dtype).value();
  return {std::move(entry.name), dtype, std::move(entry.shape), static_cast<size_t>(entry.begin),
          static_cast<size_t>(entry.end)};
}

std::string build_head(const std::vector<NamedTensor>& tensors) {
  std::vector<checkpoint::SafetensorsEntry> entries;
  for (const auto& [name, tensor] : tensors) {
    entries.push_back({.name = name, .dtype = element_type_of(tensor.scalar_type()), .shape = tensor.sizes().vec()});
  }
  return value_or_throw(checkpoint::MakeSafetensorsHead(entries, {{"format", "pt"}}));
}

}  // namespace

std::string safetensors_dtype_name(at::ScalarType dtype) {
  return std::string(checkpoint::InfoOf(element_type_of(dtype)).safetensors);
}

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file;
  file.path_ = path;
  file.pages_ = MappedPages::open(path);
  const std::string_view text = file.pages_->text();
  checkpoint::SafetensorsHeader header =
      value_or_throw(checkpoint::ParseSafetensorsHeader(text, static_cast<int64_t>(text.size()), path));
  for (checkpoint::SafetensorsEntry& entry : header.entries) {
    std::string name = entry.name;
    file.entries_.emplace(std::move(name), entry_of(std::move(entry)));
  }
  file.metadata_ = std::move(header.metadata);
  return file;
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second;
}

int64_t SafetensorsFile::bytes() const {
  return static_cast<int64_t>(pages_->text().size());
}

at::Tensor SafetensorsFile::tensor(const TensorEntry& entry) const {
  if (is_aligned(entry)) {
    return pages_->tensor(entry.begin, entry.shape, entry.dtype);
  }
  at::Tensor copy = at::empty(entry.shape, at::TensorOptions().dtype(entry.dtype));
  std::memcpy(copy.mutable_data_ptr(), pages_->text().data() + entry.begin, entry.end - entry.begin);
  return copy;
}

AtomicFile stage_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors) {
  const std::string head = build_head(tensors);
  AtomicFile file = value_or_throw(AtomicFile::Create(path));
  throw_if_error(file.Write(head));
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

}  // namespace assay::engine
