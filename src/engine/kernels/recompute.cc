#include "engine/kernels/recompute.h"

#include <ATen/core/grad_mode.h>

namespace assay::engine {

at::Tensor Recompute::take() {
  TORCH_CHECK(users_ > 0, "backward ran a second time through a graph whose element-wise results are not kept");
  if (!result_.defined()) {
    const at::NoGradGuard no_grad;
    result_ = make_();
  }
  at::Tensor result = result_;
  if (--users_ == 0) {
    result_.reset();
    make_ = nullptr;
  }
  return result;
}

}  // namespace assay::engine
