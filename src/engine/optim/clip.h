// Clipping of gradients by their norm.
#pragma once

namespace assay::engine {

/// The factor for gradients whose Euclidean norm over all parameters is `norm`, so that it does not exceed `max_norm`
/// (0: no clipping): min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_. A norm that is not a number
/// gives a factor that is not a number either.
double clip_factor(double norm, double max_norm);

}  // namespace assay::engine
