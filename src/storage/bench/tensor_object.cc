#include "storage/bench/tensor_object.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"

namespace assay::storage {
namespace {

constexpr int64_t kLengthBytes = 8;

Status Unreadable(ObjectStore& store, const std::string& key) {
  return Status::InvalidArgument("cannot read " + store.Uri(key) + ": its header is not safetensors");
}

struct TensorRange {
  int64_t begin = 0;
  int64_t end = 0;
};

Result<std::vector<TensorRange>> ReadHeader(ObjectStore& store, const std::string& key, int64_t& data_offset) {
  uint64_t length = 0;
  const ReadPiece first = {0, std::as_writable_bytes(std::span(&length, 1))};
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo info, store.Read(key, std::span(&first, 1), {}));
  if (static_cast<int64_t>(length) > info.size - kLengthBytes) {
    return Unreadable(store, key);
  }
  std::string text(length, '\0');
  ReadOptions options;
  options.if_match = info.etag;
  const ReadPiece rest = {kLengthBytes, std::as_writable_bytes(std::span(text.data(), text.size()))};
  ASSAY_RETURN_IF_ERROR(store.Read(key, std::span(&rest, 1), options).status());
  data_offset = kLengthBytes + static_cast<int64_t>(length);
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json header, ParseJson(text, store.Uri(key)));
  std::vector<TensorRange> ranges;
  for (const auto& [name, tensor] : header.items()) {
    std::vector<int64_t> offsets;
    if (!tensor.is_object() || !ReadField(tensor, "data_offsets", offsets).ok() || offsets.size() != 2 ||
        offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > info.size - data_offset) {
      return Unreadable(store, key);
    }
    ranges.push_back({offsets[0], offsets[1]});
  }
  return ranges;
}

}  // namespace

std::string TensorHeader(int64_t tensors, int64_t tensor_bytes) {
  nlohmann::json header;
  for (int64_t i = 0; i < tensors; ++i) {
    header[fmt::format("t{}", i)] = {
        {"dtype", "F32"}, {"shape", {tensor_bytes / 4}}, {"data_offsets", {i * tensor_bytes, (i + 1) * tensor_bytes}}};
  }
  std::string text = DumpJson(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t length = text.size();
  std::string out(sizeof(length), '\0');
  std::memcpy(out.data(), &length, sizeof(length));
  return out + text;
}

Result<std::vector<BenchMemory>> ReadTensors(ObjectStore& store, const std::string& key, const ReadOptions& options) {
  int64_t data_offset = 0;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<TensorRange> ranges, ReadHeader(store, key, data_offset));
  std::vector<BenchMemory> tensors;
  std::vector<ReadPiece> pieces;
  std::vector<MutableBytes> memories;
  for (const TensorRange& range : ranges) {
    ASSAY_ASSIGN_OR_RETURN(BenchMemory memory, BenchMemory::Allocate(range.end - range.begin));
    pieces.push_back({data_offset + range.begin, memory.bytes()});
    memories.push_back(memory.bytes());
    tensors.push_back(std::move(memory));
  }
  const PagesAhead pages(std::move(memories));
  ASSAY_RETURN_IF_ERROR(store.Read(key, pieces, options).status());
  return tensors;
}

}  // namespace assay::storage
