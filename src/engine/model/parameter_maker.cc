#include "engine/model/parameter_maker.h"

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

std::vector<ParameterSpec> ParameterMaker::not_in_place() const {
  std::vector<ParameterSpec> result;
  std::ranges::copy_if(specs_, std::back_inserter(result), [&](const ParameterSpec& spec) {
    const std::optional<ParameterSpec> in_file = stored(spec);
    return !in_file || !weights_->in_place(*in_file, options_.dtype, options_.device);
  });
  return result;
}

at::Tensor ParameterMaker::make(const ParameterSpec& spec) {
  const std::optional<ParameterSpec> in_file = stored(spec);
  return in_file ? weights_->take(*in_file, options_.dtype, options_.device)
                 : random_parameter(spec, options_.stddev, options_.dtype, options_.seed).to(options_.device);
}

void ParameterMaker::make(const ParameterSpec& spec, at::Tensor& target) {
  if (const std::optional<ParameterSpec> in_file = stored(spec)) {
    weights_->read(*in_file, target);
  } else {
    draw_parameter(spec, options_.stddev, options_.seed, target);
  }
}

ParameterSource ParameterMaker::source(SplitRules rules, const TensorPlace& place, const MadeParameters& made) {
  return [this, rules, place, &made](const ParameterSpec& spec) {
    const std::optional<ParameterSpec> in_file = stored(spec);
    const auto it = made.find(spec.name);
    if (it != made.end() && in_file) {
      weights_->claim(*in_file);
    }
    const at::Tensor whole = it == made.end() ? make(spec) : it->second;
    const at::Tensor parameter = cut_for_rank(rules, spec.name, whole, place, is_mapped(whole));
    return parameter.defined() ? parameter.requires_grad_() : parameter;
  };
}

}  // namespace assay::engine
