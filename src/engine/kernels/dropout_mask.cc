#include "engine/kernels/dropout_mask.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "engine/kernels/op_table.h"
#include "engine/kernels/ops.h"

namespace assay::engine {

DropoutMaskTask mask_task(const DropoutDraw& draw, const at::Tensor& keys_T, const at::Tensor& mask_TF) {
  constexpr double kNumbers = 4294967296.0;  // 2^32
  return {.keys = keys_T.const_data_ptr<int64_t>(),
          .mask = mask_TF.mutable_data_ptr<uint8_t>(),
          .tokens = keys_T.size(0),
          .first_feature = draw.first_feature,
          .features = draw.features,
          .stream = draw.stream,
          .dropped_below = static_cast<uint32_t>(std::min(draw.chance * kNumbers, kNumbers - 1))};
}

at::Tensor dropout_mask(const DropoutDraw& draw) {
  TORCH_CHECK(draw.keys_T.defined(), "dropout: the batch has no keys to draw by");
  return operations(draw.keys_T.device(), at::kFloat).dropout_mask(draw);
}

}  // namespace assay::engine
