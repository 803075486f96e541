#include "engine/model/expert_stack.h"

#include "engine/kernels/grouped_linear.h"

namespace assay::engine {

at::Tensor ExpertStack::update(const Recomputable& x_SI, const std::vector<int64_t>& offsets, Output output) const {
  const at::ScalarType dtype = x_SI.value.scalar_type();
  const int64_t rank = lora->a_rI.size(0) / experts;
  const at::Tensor a_ErI = lora->a_rI.view({experts, rank, in}).to(dtype);
  const at::Tensor b_EOr = lora->b_Or.view({out, rank, experts}).permute({2, 0, 1}).to(dtype).contiguous();
  const at::Tensor thin_Sr = grouped_linear(x_SI.value, {a_ErI}, offsets, x_SI.again) * lora->scale;
  return grouped_linear(thin_Sr, {b_EOr}, offsets, {}, output);
}

}  // namespace assay::engine
