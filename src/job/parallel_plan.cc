#include "job/parallel_plan.h"

namespace assay::job {
namespace {

Status CheckQuotient(const char* what, int64_t amount, int64_t tensor_ranks) {
  if (amount % tensor_ranks == 0) {
    return Status::Ok();
  }
  return Status::InvalidArgument("the model's " + std::to_string(amount) + " " + what + " do not divide by tp_size " +
                                 std::to_string(tensor_ranks) + ": choose a divisor");
}

}  // namespace

Status CheckModelDivides(const ParallelPlan& plan, const DivisibleModel& model) {
  const int64_t tensor_ranks = plan.knobs.tp_size;
  ASSAY_RETURN_IF_ERROR(CheckQuotient("attention heads", model.attention_heads, tensor_ranks));
  ASSAY_RETURN_IF_ERROR(CheckQuotient("key and value heads", model.key_value_heads, tensor_ranks));
  ASSAY_RETURN_IF_ERROR(CheckQuotient("intermediate features", model.intermediate_features, tensor_ranks));
  ASSAY_RETURN_IF_ERROR(CheckQuotient("experts", model.experts, tensor_ranks));
  if (model.layers < plan.knobs.pp_size) {
    return Status::InvalidArgument("the model's " + std::to_string(model.layers) + " layers are fewer than pp_size " +
                                   std::to_string(plan.knobs.pp_size) + ": each stage needs at least one");
  }
  return Status::Ok();
}

}  // namespace assay::job
