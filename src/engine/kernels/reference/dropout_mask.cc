#include <ATen/core/PhiloxRNGEngine.h>

#include "engine/kernels/reference/ops.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine::reference {

at::Tensor dropout_mask(const DropoutDraw& draw) {
  const at::Tensor keys_T = draw.keys_T.cpu();
  at::Tensor mask_TF = at::empty({keys_T.size(0), draw.features}, at::kByte);
  const DropoutMaskTask task = mask_task(draw, keys_T, mask_TF);
  for (int64_t token = 0; token < task.tokens; ++token) {
    const auto key = static_cast<uint64_t>(task.keys[token]);
    at::Philox4_32 numbers(key, task.stream, static_cast<uint64_t>(task.first_feature / kFeaturesOfCounter));
    for (int64_t skipped = 0; skipped < task.first_feature % kFeaturesOfCounter; ++skipped) {
      numbers();
    }
    for (int64_t feature = 0; feature < task.features; ++feature) {
      task.mask[token * task.features + feature] = numbers() >= task.dropped_below ? 1 : 0;
    }
  }
  return mask_TF.to(draw.keys_T.device());
}

}  // namespace assay::engine::reference
