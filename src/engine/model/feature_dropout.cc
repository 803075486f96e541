#include "engine/model/feature_dropout.h"

#include "engine/kernels/ops.h"
#include "engine/model/random_normal.h"

namespace assay::engine {

at::Tensor drop_features(const at::Tensor& x_TH, double chance, const at::Tensor& keys_T, std::string_view path) {
  if (chance == 0) {
    return x_TH;
  }
  const at::Tensor mask_TH =
      dropout_mask({.keys_T = keys_T, .stream = stream_key(0, path), .chance = chance, .features = x_TH.size(1)});
  return x_TH * mask_TH.to(x_TH.scalar_type()).div_(1 - chance);
}

}  // namespace assay::engine
