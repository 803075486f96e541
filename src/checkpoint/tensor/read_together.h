// Many tensors into memory at once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "checkpoint/tensor/tensor.h"

namespace assay::checkpoint {

/// From the first byte to the last of what is fetched together because it lies near each other.
inline constexpr int64_t kTogetherBytes = int64_t{8} << 20;

/// A tensor, and the memory of its size that its elements are to be in, in row-major order.
struct TensorRead {
  std::shared_ptr<const Tensor> tensor{};
  storage::MutableBytes memory{};
};

/// Reads all of them, `at_a_time` in parallel. Small ones that lie near each other are fetched together: a model has
/// thousands of vectors, and a source whose sums are checked fetches a whole stretch for each of them.
Status ReadTogether(const std::vector<TensorRead>& reads, int at_a_time);

}  // namespace assay::checkpoint
