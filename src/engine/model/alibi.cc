#include "engine/model/alibi.h"

#include <ATen/ATen.h>

#include <bit>
#include <cmath>

namespace assay::engine {
namespace {

/// Places of a row are counted in these and in ones: either count is exact in bfloat16 up to the 65536th.
constexpr int64_t kAlibiStride = 256;

at::Tensor with_features(const at::Tensor& x_TND, int64_t heads, const at::Tensor& features) {
  const at::Tensor x = x_TND.view({x_TND.size(0), heads, -1});
  return at::cat({x, features.expand({x.size(0), heads, kAlibiFeatures})}, 2).view({x.size(0), -1});
}

/// Where and as `like` is, without waiting for what its device has to do.
at::Tensor moved_like(const at::Tensor& host, const at::Tensor& like) {
  const at::Tensor converted = host.to(like.scalar_type());
  return (like.is_cuda() ? converted.pin_memory() : converted).to(like.device(), /*non_blocking=*/true);
}

}  // namespace

std::vector<double> alibi_slopes(int64_t heads) {
  const auto power_of_two = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  const double exponent = -8.0 / static_cast<double>(power_of_two);
  std::vector<double> slopes;
  for (int64_t head = 1; head <= power_of_two; ++head) {
    slopes.push_back(std::exp2(exponent * static_cast<double>(head)));
  }
  for (int64_t odd = 1; static_cast<int64_t>(slopes.size()) < heads; odd += 2) {
    slopes.push_back(std::exp2(exponent / 2 * static_cast<double>(odd)));
  }
  return slopes;
}

BiasedHeads add_alibi(const at::Tensor& q_TND, const at::Tensor& k_TND, const at::Tensor& v_TND,
                      const at::Tensor& positions_T, const std::vector<double>& slopes, double scale) {
  const auto heads = static_cast<int64_t>(slopes.size());
  const at::Tensor of_heads_N = at::tensor(slopes, at::kDouble) / scale;
  const at::Tensor of_queries_NE = at::zeros({heads, kAlibiFeatures}, at::kDouble);
  of_queries_NE.select(1, 0).copy_(of_heads_N * kAlibiStride);
  of_queries_NE.select(1, 1).copy_(of_heads_N);
  const at::Tensor positions = positions_T.to(q_TND.device());
  const at::Tensor of_keys_T1E = at::zeros({positions.size(0), 1, kAlibiFeatures}, q_TND.options());
  of_keys_T1E.select(2, 0).select(1, 0).copy_(positions.div(kAlibiStride, "floor"));
  of_keys_T1E.select(2, 1).select(1, 0).copy_(positions.remainder(kAlibiStride));
  return {with_features(q_TND, heads, moved_like(of_queries_NE, q_TND).unsqueeze(0)),
          with_features(k_TND, heads, of_keys_T1E),
          with_features(v_TND, heads, at::zeros({1, 1, kAlibiFeatures}, v_TND.options()))};
}

at::Tensor without_alibi(const at::Tensor& heads_TNE, int64_t heads) {
  const at::Tensor x = heads_TNE.view({heads_TNE.size(0), heads, -1});
  return x.narrow(2, 0, x.size(2) - kAlibiFeatures).reshape({x.size(0), -1});
}

}  // namespace assay::engine
