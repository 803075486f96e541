// A copy of what a rank holds, for a save that goes on beside the training.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <set>
#include <vector>

#include "engine/checkpoint/held_state.h"

namespace assay::engine {

/// What each of `ranks` copies that all hold `held`, with moments, and share the writing of it as a save plans it
/// (checkpoint/dcp/save_plan.h).
std::vector<int64_t> snapshot_bytes(const std::vector<HeldState>& held, int64_t ranks);

/// Its memory is kept from one save to the next: fresh memory takes longer to come by than to fill.
class Snapshot {
 public:
  /// `held` with copies on the CPU of all counts, and of the tensors whose addresses are among `wanted`; the others are
  /// as they were. Copies are good until the next take().
  std::vector<HeldState> take(const std::vector<HeldState>& held, const std::set<const at::Tensor*>& wanted);

 private:
  at::Tensor copy(size_t place, const at::Tensor& tensor);

  std::vector<at::Tensor> memory_;
  std::vector<int64_t> steps_;
};

}  // namespace assay::engine
