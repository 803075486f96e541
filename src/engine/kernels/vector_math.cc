#include "engine/kernels/vector_math.h"

#include <ATen/ops/ones.h>

#include <mutex>

namespace assay::engine {

void settle_vector_math() {
  static std::once_flag settled;
  std::call_once(settled, [] {
    for (const auto dtype : {at::kFloat, at::kDouble}) {
      const at::Tensor one = at::ones({1}, dtype);
      one.cos();
      one.exp();
      one.log();
      one.sin();
      one.sqrt();
    }
  });
}

}  // namespace assay::engine
