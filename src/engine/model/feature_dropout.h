// Dropout of features between the layers of a model (Srivastava et al. 2014).
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

namespace assay::engine {

/// x with elements dropped by `chance`, below 1, and the others divided by 1 - chance; x itself where it is 0. The mask
/// follows from the tokens' `keys_T` (PackedBatch::draw_keys_T) and the `path` of the module that drops: it is the same
/// when a layer runs again, and on ranks that each have a part of a sum.
at::Tensor drop_features(const at::Tensor& x_TH, double chance, const at::Tensor& keys_T, std::string_view path);

}  // namespace assay::engine
