#include "engine/model/embedding_noise.h"

#include <ATen/ops/empty.h>

#include <cmath>

#include "engine/model/random_normal.h"

namespace assay::engine {
namespace {

/// On the host, row by row.
at::Tensor draw_noise(const PackedBatch& batch, int64_t features, double alpha) {
  at::Tensor noise_TH = at::empty({batch.tokens(), features}, at::kFloat);
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const int64_t begin = batch.row_offsets[static_cast<size_t>(row)];
    const int64_t places = batch.row_offsets[static_cast<size_t>(row) + 1] - begin;
    const auto elements = static_cast<double>((places - batch.prompt_length) * features);
    at::Tensor of_row = noise_TH.narrow(0, begin, places);
    fill_uniform(of_row, alpha / std::sqrt(elements), batch.row_keys[static_cast<size_t>(row)]);
  }
  return noise_TH;
}

}  // namespace

at::Tensor add_noise(const at::Tensor& x_TH, const PackedBatch& batch, double alpha, double multiplier) {
  if (alpha == 0) {
    return x_TH;
  }
  TORCH_CHECK(x_TH.is_meta() || static_cast<int64_t>(batch.row_keys.size()) == batch.rows(),
              "noise on embeddings: the batch has no keys to draw by");
  const at::Tensor noise_TH = x_TH.is_meta() ? at::empty(x_TH.sizes(), x_TH.options().dtype(at::kFloat))
                                             : draw_noise(batch, x_TH.size(1), alpha * multiplier);
  return x_TH + noise_TH.to(x_TH.options().requires_grad(false));
}

}  // namespace assay::engine
