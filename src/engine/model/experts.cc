#include "engine/model/experts.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::engine {
namespace {

/// The rows, made again of x as that is.
Recomputable recomputable_rows(const Recomputable& x_TH, const Routing& routing) {
  Recomputable rows(rows_of_tokens(x_TH.value, routing));
  Routing of_rows = routing;
  of_rows.weights_S = at::Tensor();
  if (x_TH.again) {
    x_TH.again->add_user();
    rows.again = c10::make_intrusive<Recompute>(
        [of_rows, again = x_TH.again] { return rows_of_tokens(again->take(), of_rows); });
  } else {
    rows.again =
        c10::make_intrusive<Recompute>([of_rows, x = x_TH.value.detach()] { return rows_of_tokens(x, of_rows); });
  }
  return rows;
}

/// Where transformers has the experts' tensors: Mixtral's, which are apart in its files, elsewhere than these.
std::string stacks_path(const architecture::ModelConfig& config, const std::string& path) {
  return (config.stacked_experts ? path : path.substr(0, path.rfind('.')) + ".mlp") + ".experts.";
}

}  // namespace

Experts::Experts(const architecture::ModelConfig& config, const std::string& path)
    : path_(path),
      experts_(config.num_experts),
      per_token_(config.experts_per_token),
      gate_up_stack_{.path = stacks_path(config, path) + "gate_up_proj",
                     .experts = experts_,
                     .out = 2 * config.intermediate_size,
                     .in = config.hidden_size},
      down_stack_{.path = stacks_path(config, path) + "down_proj",
                  .experts = experts_,
                  .out = config.hidden_size,
                  .in = config.intermediate_size} {
  const auto apart = static_cast<size_t>(config.stacked_experts ? 0 : experts_);
  gate_up_.resize(config.stacked_experts ? 1 : 0);
  gate_.resize(apart);
  up_.resize(apart);
  down_.resize(config.stacked_experts ? 1 : apart);
  gate_up_stack_.weights = config.stacked_experts ? std::vector{&gate_up_} : std::vector{&gate_, &up_};
  down_stack_.weights = {&down_};
}

std::vector<std::pair<std::string, at::Tensor*>> Experts::places() {
  if (!gate_up_.empty()) {
    return {{path_ + ".router.layer.weight", &router_EH_},
            {path_ + ".input_linear.weight", &gate_up_.front()},
            {path_ + ".output_linear.weight", &down_.front()}};
  }
  std::vector<std::pair<std::string, at::Tensor*>> places = {{path_ + ".gate.weight", &router_EH_}};
  for (size_t e = 0; e < gate_.size(); ++e) {
    const std::string expert = fmt::format("{}.experts.{}", path_, e);
    places.emplace_back(expert + ".w1.weight", &gate_[e]);
    places.emplace_back(expert + ".w2.weight", &down_[e]);
    places.emplace_back(expert + ".w3.weight", &up_[e]);
  }
  return places;
}

int64_t Experts::own() const {
  return gate_up_.empty() ? experts_ : gate_up_.front().size(0);
}

int64_t Experts::inner_width() const {
  return std::min(per_token_, own()) * down_.front().size(-1);
}

int64_t Experts::output_width() const {
  return std::min(per_token_, own()) * down_.front().size(-2);
}

std::pair<int64_t, int64_t> Experts::largest_matrix() const {
  const at::Tensor& matrix = gate_up_.empty() ? gate_.front() : gate_up_.front();
  return {matrix.size(-2), matrix.size(-1)};
}

/// What each expert gives of its rows, times what the router gives it: an expert has no bias, so that its activation
/// may be weighted in the place of its result.
at::Tensor Experts::weighted(const Recomputable& x_SH, const Routing& routing, Output output) const {
  const std::vector<int64_t>& offsets = routing.offsets;
  at::Tensor gate_SI, up_SI;
  if (gate_up_.empty()) {
    gate_SI = grouped_linear(x_SH.value, gate_, offsets, x_SH.again);
    up_SI = grouped_linear(x_SH.value, up_, offsets, x_SH.again);
  } else {
    const auto halves = grouped_linear(x_SH.value, gate_up_, offsets, x_SH.again).chunk(2, 1);
    gate_SI = halves[0].contiguous();
    up_SI = halves[1].contiguous();
  }
  if (gate_up_stack_.lora) {
    const auto halves = gate_up_stack_.update(x_SH, offsets).chunk(2, 1);
    gate_SI = gate_SI + halves[0];
    up_SI = up_SI + halves[1];
  }
  const Recomputable inner_SI = recomputable_swiglu(gate_SI, up_SI, routing.weights_S);
  const at::Tensor y_SH = grouped_linear(inner_SI.value, down_, offsets, inner_SI.again, output);
  return down_stack_.lora ? y_SH + down_stack_.update(inner_SI, offsets, output) : y_SH;
}

Routing Experts::routing_of(const Recomputable& x_TH, int64_t first, bool attaches, Output output,
                            const std::shared_ptr<RouterBalance>& balance) const {
  const at::Tensor logits_TE = linear(x_TH.value, router_EH_, std::nullopt, x_TH.again);
  if (!balance) {
    return route(logits_TE, per_token_, first, own());
  }
  Routing routing = route(attaches ? RouterBalance::attach(logits_TE, balance) : logits_TE, per_token_, first, own());
  if (output == Output::kComputed) {
    balance->count(logits_TE, routing.choices_E);
  }
  return routing;
}

at::Tensor Experts::forward(const Recomputable& x_TH, int64_t part, Output output,
                            const std::shared_ptr<RouterBalance>& balance) const {
  const int64_t first = own() == experts_ ? 0 : part * own();
  const Routing routing = routing_of(x_TH, first, /*attaches=*/part == 0, output, balance);
  return tokens_of_rows(weighted(recomputable_rows(x_TH, routing), routing, output), routing);
}

}  // namespace assay::engine
