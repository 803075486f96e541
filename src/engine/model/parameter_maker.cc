#include "engine/model/parameter_maker.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/model/mapped_pages.h"
#include "engine/model/random_parameter.h"

namespace assay::engine {

ParameterMaker::ParameterMaker(std::vector<ParameterSpec> specs, std::optional<Weights> weights,
                               const ParameterOptions& options, StoredAs stored_as)
    : specs_(std::move(specs)), weights_(std::move(weights)), options_(options), stored_as_(std::move(stored_as)) {}

std::optional<ParameterSpec> ParameterMaker::stored(const ParameterSpec& spec) const {
  return weights_ ? stored_as_(spec) : std::nullopt;
}

bool ParameterMaker::is_in_place(const ParameterSpec& spec) const {
  const std::optional<ParameterSpec> in_file = stored(spec);
  const bool in_columns = options_.place.ranks > 1 && split_of(options_.rules, spec.name) == TensorSplit::kColumns;
  return in_file && !in_columns && weights_->in_place(*in_file, options_.dtype, options_.device);
}

std::vector<ParameterSpec> ParameterMaker::not_in_place() const {
  std::vector<ParameterSpec> result;
  std::ranges::copy_if(specs_, std::back_inserter(result),
                       [&](const ParameterSpec& spec) { return !is_in_place(spec); });
  return result;
}

at::Tensor ParameterMaker::make(const ParameterSpec& spec) {
  if (const std::optional<ParameterSpec> in_file = stored(spec)) {
    return weights_->take(*in_file, options_.dtype, options_.device);
  }
  if (options_.device.is_meta()) {
    return at::empty(spec.shape, at::TensorOptions(options_.dtype).device(options_.device));
  }
  return random_parameter(spec, options_.stddev, options_.dtype, options_.seed).to(options_.device);
}

void ParameterMaker::make(const ParameterSpec& spec, at::Tensor& target) {
  if (const std::optional<ParameterSpec> in_file = stored(spec)) {
    weights_->read(*in_file, target);
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
  if (const std::optional<ParameterSpec> in_file = stored(spec)) {
    weights_->claim(*in_file);
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
