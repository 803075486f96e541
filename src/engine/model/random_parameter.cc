#include "engine/model/random_parameter.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include "engine/model/random_normal.h"

namespace assay::engine {

void draw_parameter(const ParameterSpec& spec, double stddev, uint64_t seed, at::Tensor& target) {
  switch (spec.initializer) {
    case Initializer::kOnes:
      target.fill_(1);
      return;
    case Initializer::kZeros:
      target.zero_();
      return;
    case Initializer::kLogOfPlace:
      target.copy_(at::arange(1, target.numel() + 1, at::kFloat).log());
      return;
    case Initializer::kNormal:
      fill_normal(target, stddev, stream_key(seed, spec.name));
  }
}

at::Tensor random_parameter(const ParameterSpec& spec, double stddev, at::ScalarType dtype, uint64_t seed) {
  at::Tensor parameter = at::empty(spec.shape, at::TensorOptions().dtype(dtype));
  draw_parameter(spec, stddev, seed, parameter);
  return parameter;
}

}  // namespace assay::engine
