#include "engine/kernels/low_rank.h"

#include "engine/kernels/op_table.h"

namespace assay::engine {
namespace {

const Operations& low_rank_row(const Dropped& x, const at::Tensor& thin) {
  return operations_if(thin.scalar_type() == at::kFloat, x.data_TI);
}

}  // namespace

at::Tensor project_down(const Dropped& x, const at::Tensor& a_rI, double scale) {
  return low_rank_row(x, a_rI).project_down(x, a_rI, scale);
}

void project_up(const at::Tensor& low_Tr, const at::Tensor& a_rI, double scale, const Dropped& y) {
  low_rank_row(y, a_rI).project_up(low_Tr, a_rI, scale, y);
}

at::Tensor outer_sum(const at::Tensor& low_Tr, const Dropped& x, double scale) {
  return low_rank_row(x, low_Tr).outer_sum(low_Tr, x, scale);
}

}  // namespace assay::engine
