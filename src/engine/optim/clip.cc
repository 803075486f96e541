#include "engine/optim/clip.h"

namespace assay::engine {

double clip_factor(double norm, double max_norm) {
  if (max_norm <= 0) {
    return 1.0;
  }
  const double factor = max_norm / (norm + 1e-6);
  return factor > 1.0 ? 1.0 : factor;
}

}  // namespace assay::engine
