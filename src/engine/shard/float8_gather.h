// All-gather of weights as 8-bit floats.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "engine/shard/flat_layout.h"
#include "engine/shard/shard_context.h"

namespace assay::engine {

/// Each rank sends its shard as e4m3 (Micikevicius et al. 2022, "FP8 Formats for Deep Learning") with the scale
/// 448 / max |x|; all ranks, the sender too, then read the same rounded values. A format for the way only: arithmetic
/// stays in the weights' dtype.
class Float8Gather {
 public:
  Float8Gather(ShardContext& context, const DataRanks& ranks, const FlatLayout& layout, std::string label);
  void begin(const at::Tensor& shard);
  /// Waits, and writes the whole weights.
  void finish(const at::Tensor& full);

 private:
  DataRanks ranks_;
  const FlatLayout& layout_;
  std::string label_;
  FlatBuffer bytes_;
  FlatBuffer scales_;
  WorkPtr bytes_work_;
  WorkPtr scales_work_;
};

}  // namespace assay::engine
