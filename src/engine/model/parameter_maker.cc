#include "engine/model/parameter_maker.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/model/mapped_pages.h"
#include "engine/model/random_parameter.h"

namespace assay::engine {

ParameterMaker::ParameterMaker(std::vector<ParameterSpec> specs, std::optional<Weights> weights,
                               const ParameterOptions& options, IsStored is_stored)
    : specs_(std::move(specs)), weights_(std::move(weights)), options_(options), is_stored_(std::move(is_stored)) {}

bool ParameterMaker::is_in_place(const ParameterSpec& spec) const {
  const bool in_columns = options_.place.ranks > 1 && split_of(options_.rules, spec.name) == TensorSplit::kColumns;
  return is_stored(spec) && !in_columns && weights_->in_place(spec, options_.dtype, options_.device);
}

std::vector<ParameterSpec> ParameterMaker::not_in_place() const {
  std::vector<ParameterSpec> result;
  std::ranges::copy_if(specs_, std::back_inserter(result),
                       [&](const ParameterSpec& spec) { return !is_in_place(spec); });
  return result;
}

at::Tensor ParameterMaker::make(const ParameterSpec& spec) {
  if (is_stored(spec)) {
    return weights_->take(spec, options_.dtype, options_.device);
  }
  if (options_.device.is_meta()) {
    return at::empty(spec.shape, at::TensorOptions(options_.dtype).device(options_.device));
  }
  return random_parameter(spec, options_.stddev, options_.dtype, options_.seed).to(options_.device);
}

void ParameterMaker::make(const ParameterSpec& spec, at::Tensor& target) {
  if (is_stored(spec)) {
    weights_->read(spec, target);
  } else {
    draw_parameter(spec, options_.stddev, options_.seed, target);
  }
}

at::Tensor ParameterMaker::part_of_rank(const ParameterSpec& spec, const MadeParameters& made) {
  const auto it = made.find(spec.name);
  if (it == made.end()) {
    const at::Tensor whole = make(spec);
    return cut_for_rank(options_.rules, spec.name, whole, options_.place, is_mapped(whole));
  }
  if (is_stored(spec)) {
    weights_->claim(spec);
  }
  return it->second;
}

ParameterSource ParameterMaker::source(const MadeParameters& made) {
  return [this, &made](const ParameterSpec& spec) {
    const at::Tensor parameter = part_of_rank(spec, made);
    return parameter.defined() ? parameter.requires_grad_() : parameter;
  };
}

}  // namespace assay::engine
