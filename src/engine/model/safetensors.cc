#include "engine/model/safetensors.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "engine/model/safetensors_header.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

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

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file;
  file.path_ = path;
  file.pages_ = MappedPages::open(path);
  SafetensorsHeader header = parse_safetensors_header(file.pages_->text(), path);
  file.entries_ = std::move(header.entries);
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

}  // namespace assay::engine
