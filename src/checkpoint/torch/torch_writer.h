// Files as torch.save writes them, laid out without their tensors' bytes.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "checkpoint/file/file_layout.h"
#include "checkpoint/value/value.h"

namespace assay::checkpoint {

struct TorchFileOptions {
  /// The folder of the records: torch takes the file's name without its ending, and "archive" of a buffer.
  std::string archive = "archive";
  /// Storages begin at multiples of it, from the begin of the layout.
  int64_t alignment = 64;
  /// 40 digits; empty: those of a file of no other kind.
  std::string serialization_id{};
};

/// What torch.load, also with weights_only=True or mmap=True, and torch's readers of every later version read as
/// `value`.
Result<FileLayout> LayOutTorchFile(const Value& value, const TorchFileOptions& options = {});

}  // namespace assay::checkpoint
