// The header of a safetensors file: u64 little-endian length, JSON {name: {dtype, shape, data_offsets}} padded with
// spaces, then the tensors' bytes without holes (https://github.com/huggingface/safetensors#format).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/tensor/box.h"
#include "checkpoint/tensor/dtype.h"

namespace assay::checkpoint {

/// Where one tensor stands in a file.
struct SafetensorsEntry {
  std::string name{};
  DType dtype = DType::kFloat32;
  Sizes shape{};      ///< as torch has it: of two elements in a byte, the last dimension counts bytes
  int64_t begin = 0;  ///< bytes from the start of the file
  int64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries{};  ///< in the order of their bytes
  std::map<std::string, std::string> metadata{};
  int64_t data_begin = 0;  ///< bytes before the first tensor's
};

/// Bytes at the begin of a file that tell the length of its header.
inline constexpr int64_t kSafetensorsLengthBytes = 8;

/// Bytes before the tensors of a file of `file_bytes`, told by its first eight; InvalidArgument where they cannot be.
Result<int64_t> SafetensorsDataBegin(std::string_view first_bytes, int64_t file_bytes, const std::string& uri);

/// Checked in full: every tensor lies inside the file, none overlaps another, every byte belongs to one, and each
/// length is what dtype and shape say. `head` is the file up to data_begin at least; `uri` is for errors, which are one
/// line.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view head, int64_t file_bytes, const std::string& uri);

/// The file's begin, up to its first tensor, whose bytes begin at a multiple of 64. Entries stand in the order of their
/// bytes; their `begin` and `end` are set. Unsupported, naming the tensor, for a dtype without a name in the
/// format and for the name "__metadata__".
Result<std::string> MakeSafetensorsHead(std::vector<SafetensorsEntry>& entries,
                                        const std::map<std::string, std::string>& metadata);

}  // namespace assay::checkpoint
