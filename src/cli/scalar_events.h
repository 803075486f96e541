// Files of scalars that TensorBoard draws as curves.
//
// A file is a row of TFRecords (tensorflow/core/lib/io/record_writer.h: u64 length, masked CRC-32C of it, the bytes,
// masked CRC-32C of them), each an Event in protocol buffers' encoding (tensorflow/core/util/event.proto). All numbers
// are little endian.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "cli/append_file.h"

namespace assay::cli {

struct Scalar {
  std::string_view tag;  ///< "train/loss"
  double value = 0;
};

/// Not safe to use from two threads.
class ScalarEvents {
 public:
  /// A file of its own in `folder`, named as TensorBoard finds it.
  static Result<ScalarEvents> Create(const std::string& folder);

  /// Stands in the file when it returns.
  Status Write(int64_t step, std::span<const Scalar> scalars);
  /// What files of the folder said of `step` and later steps is not drawn any more.
  Status BeginAt(int64_t step);

 private:
  explicit ScalarEvents(AppendFile file) : file_(std::move(file)) {}
  Status WriteRecord(std::string_view event);

  AppendFile file_;
};

}  // namespace assay::cli
