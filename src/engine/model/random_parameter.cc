#include "engine/model/random_parameter.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "engine/model/random_normal.h"

namespace assay::engine {

at::Tensor random_parameter(const ParameterSpec& spec, double stddev, at::ScalarType dtype, uint64_t seed) {
  const auto options = at::TensorOptions().dtype(dtype);
  switch (spec.initializer) {
    case Initializer::kOnes:
      return at::ones(spec.shape, options);
    case Initializer::kZeros:
      return at::zeros(spec.shape, options);
    case Initializer::kNormal:
      break;
  }
  at::Tensor parameter = at::empty(spec.shape, options);
  fill_normal(parameter, stddev, stream_key(seed, spec.name));
  return parameter;
}

}  // namespace assay::engine
