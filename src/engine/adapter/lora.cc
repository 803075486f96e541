#include "engine/adapter/lora.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "engine/adapter/adapter_config.h"
#include "engine/adapter/adapter_folder.h"
#include "engine/adapter/target_modules.h"
#include "engine/adapter/trainable.h"
#include "engine/model/adapters.h"
#include "engine/model/random_normal.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

/// An adapter that is to be put on, with its sizes in the whole model.
struct Target {
  Adapter adapter;
  at::Tensor weight_OI = {};  ///< of a linear layer
  int64_t rank;               ///< of an adapter of experts, of all of them together
  int64_t out;
  int64_t in;
  at::TensorOptions options;
};

at::TensorOptions adapter_options(const Linear& linear) {
  return at::TensorOptions().dtype(at::kFloat).device(linear.weight_OI.device());
}

void add_linears(CausalLM& model, const LoraConfig& config, const TensorPlace& place, Matching matching,
                 std::vector<Target>& targets) {
  const std::vector<Linear*> linears = model.linears();
  std::vector<std::string> paths;
  for (const Linear* linear : linears) {
    paths.push_back(linear->path);
  }
  for (const size_t index : matched_modules(paths, config, matching)) {
    Linear& linear = *linears[index];
    const std::vector<int64_t> whole =
        whole_shape(model.split_rules(), linear.path + ".weight", linear.weight_OI.sizes().vec(), place.ranks);
    linear.lora.emplace();
    targets.push_back({.adapter = {linear.path, &*linear.lora, config.use_dora ? &linear.dora.emplace() : nullptr},
                       .weight_OI = linear.weight_OI,
                       .rank = config.rank,
                       .out = whole[0],
                       .in = whole[1],
                       .options = adapter_options(linear)});
  }
}

/// As of modules: each target must be there, or one of them, or of modules.
void check_target_parameters(const std::vector<ExpertStack*>& stacks, const LoraConfig& config, bool is_each_needed) {
  for (const std::string& target : config.target_parameters) {
    if (is_each_needed &&
        std::ranges::none_of(stacks, [&](const auto* stack) { return matches_target(stack->path, target); })) {
      throw_invalid_argument(fmt::format("target parameter '{}' is no tensor of experts of the model{}", target,
                                         stacks.empty() ? ", which has none" : ": gate_up_proj, down_proj"));
    }
  }
}

void check_expert_adapters(const LoraConfig& config, const TensorPlace& place) {
  if (config.dropout > 0) {
    throw_invalid_argument(
        fmt::format("adapters of experts have no dropout, in peft neither: set it to 0, not {}", config.dropout));
  }
  if (place.ranks > 1) {
    throw_invalid_argument("adapters of experts are not divided over tensor ranks: set tp_size to 1");
  }
}

void add_stacks(CausalLM& model, const LoraConfig& config, const TensorPlace& place, Matching matching,
                std::vector<Target>& targets) {
  const std::vector<ExpertStack*> stacks = model.expert_stacks();
  std::vector<ExpertStack*> targeted;
  const size_t first = targets.size();
  for (ExpertStack* stack : stacks) {
    if (std::ranges::any_of(config.target_parameters,
                            [&](const std::string& target) { return matches_target(stack->path, target); })) {
      stack->lora.emplace();
      targeted.push_back(stack);
    }
  }
  const bool is_nothing_matched = targets.empty() && targeted.empty();
  check_target_parameters(stacks, config, matching == Matching::kEveryTarget || is_nothing_matched);
  if (targeted.empty()) {
    return;
  }
  check_expert_adapters(config, place);
  // What peft calls one of them follows from which others there are.
  for (const Adapter& adapter : adapters_of({}, targeted)) {
    const ExpertStack& stack = *targeted[targets.size() - first];
    targets.push_back({.adapter = adapter,
                       .rank = config.rank * stack.experts,
                       .out = stack.out,
                       .in = stack.in,
                       .options = adapter_options(*model.linears().front())});
  }
}

/// What DoRA cannot be put on.
void check_dora(CausalLM& model, const LoraConfig& config, const TensorPlace& place) {
  if (!config.target_parameters.empty()) {
    throw_invalid_argument("DoRA is not for adapters of experts, in peft neither: leave use_dora or these targets out");
  }
  if (place.ranks > 1) {
    throw_invalid_argument("DoRA's lengths are of whole rows, which tensor ranks do not have: set tp_size to 1");
  }
  if (std::ranges::any_of(model.linears(), [](const Linear* linear) { return linear->frozen != nullptr; })) {
    throw_invalid_argument("DoRA is not supported on quantised weights: leave use_dora or the bits out");
  }
}

std::vector<Target> targets_of(CausalLM& model, const LoraConfig& config, const TensorPlace& place, Matching matching) {
  std::vector<Target> targets;
  if (config.use_dora) {
    check_dora(model, config, place);
  }
  if (!config.target_modules.empty() || !config.target_pattern.empty()) {
    add_linears(model, config, place, matching, targets);
  }
  if (!config.target_parameters.empty()) {
    add_stacks(model, config, place, matching, targets);
  }
  return targets;
}

/// Every name that `all-linear` stands for; the head is none of linears(), as in peft.
std::vector<std::string> all_linear_names(CausalLM& model) {
  std::set<std::string> names;
  for (const Linear* linear : model.linears()) {
    names.insert(linear->path.substr(linear->path.rfind('.') + 1));
  }
  return {names.begin(), names.end()};
}

/// Names of linear layers, and of experts' tensors. Their last component tells, so that each stage of a pipeline, which
/// has layers of its own, says the same of a target.
void set_targets(CausalLM& model, const std::vector<std::string>& targets, LoraConfig& config) {
  const std::vector<Linear*> linears = model.linears();
  const std::vector<ExpertStack*> stacks = model.expert_stacks();
  for (const std::string& target : targets) {
    const std::string last = target.substr(target.rfind('.') + 1);
    const auto has_name = [&](const auto* part) { return matches_target(part->path, last); };
    const bool is_parameter = std::ranges::none_of(linears, has_name) && std::ranges::any_of(stacks, has_name);
    (is_parameter ? config.target_parameters : config.target_modules).push_back(target);
  }
}

LoraConfig config_from_options(CausalLM& model, const job::LoraOptions& options) {
  if (options.rank < 1 || options.alpha <= 0 || options.dropout < 0 || options.dropout >= 1) {
    throw_invalid_argument(
        fmt::format("LoRA needs rank >= 1, alpha > 0 and 0 <= dropout < 1, not rank {}, alpha {}, dropout {}",
                    options.rank, options.alpha, options.dropout));
  }
  LoraConfig config;
  config.rank = options.rank;
  config.alpha = options.alpha;
  config.dropout = options.dropout;
  config.use_rslora = options.use_rslora;
  config.use_dora = options.use_dora;
  const std::vector<std::string>& targets = options.target_modules;
  if (targets.empty()) {
    throw_invalid_argument(fmt::format("LoRA needs at least one target module; available modules: {}",
                                       fmt::join(all_linear_names(model), ", ")));
  }
  if (targets.size() == 1 && targets[0] == "all-linear") {
    config.target_modules = all_linear_names(model);
  } else if (targets.size() == 1 && is_pattern(targets[0])) {
    config.target_pattern = targets[0];
  } else {
    set_targets(model, targets, config);
  }
  return config;
}

/// Undefined `magnitude_O`: rows keep the lengths that they have.
void put_on_dora(const Target& target, const at::Tensor& magnitude_O) {
  const at::Tensor squares_O = row_squares(target.weight_OI);
  const at::Tensor lengths_O = magnitude_O.defined() ? magnitude_O.to(target.options) : squares_O.sqrt();
  *target.adapter.dora = {.magnitude_O = lengths_O.requires_grad_(), .row_squares_O = squares_O};
}

/// The rank's part of an adapter of the whole layer.
void put_on(const Target& target, const LoraConfig& config, SplitRules rules, const TensorPlace& place,
            const at::Tensor& a_rI, const at::Tensor& b_Or, const at::Tensor& magnitude_O = {}) {
  const auto part = [&](const std::string& name, const at::Tensor& whole) {
    return cut_for_rank(rules, name, whole, place).to(target.options).requires_grad_();
  };
  *target.adapter.tensors = LoraTensors{.a_rI = part(target.adapter.a_name(), a_rI),
                                        .b_Or = part(target.adapter.b_name(), b_Or),
                                        .scale = config.scale(),
                                        .dropout = config.dropout};
  if (target.adapter.dora != nullptr) {
    put_on_dora(target, magnitude_O);
  }
}

/// Kaiming uniform with a = sqrt(5) (He et al. 2015) has the bound sqrt(6 / ((1 + a^2) fan_in)) = 1 / sqrt(fan_in).
at::Tensor draw_a(const Target& target, uint64_t seed) {
  if (target.options.device().is_meta()) {
    return at::empty({target.rank, target.in}, target.options);
  }
  at::Tensor a_rI = at::empty({target.rank, target.in}, at::kFloat);
  fill_uniform(a_rI, 1.0 / std::sqrt(static_cast<double>(target.in)), stream_key(seed, target.adapter.a_name()));
  return a_rI;
}

void put_on_fresh(CausalLM& model, const LoraConfig& config, uint64_t seed, const TensorPlace& place) {
  const Matching matching = model.is_whole() ? Matching::kEveryTarget : Matching::kPartOfModel;
  for (const Target& target : targets_of(model, config, place, matching)) {
    put_on(target, config, model.split_rules(), place, draw_a(target, seed),
           at::zeros({target.out, target.rank}, target.options));
  }
}

LoraConfig put_on_from_folder(CausalLM& model, const std::string& adapter_dir, const TensorPlace& place) {
  const AdapterConfigText text = read_adapter_config(adapter_dir);
  const LoraConfig config = parse_adapter_config(text.text, text.path);
  const SafetensorsFile file = open_adapter_weights(adapter_dir);
  std::set<std::string> taken;
  // peft passes over listed targets that the model lacks, as long as one is there.
  const Matching matching = model.is_whole() ? Matching::kAnyTarget : Matching::kPartOfModel;
  for (const Target& target : targets_of(model, config, place, matching)) {
    const at::Tensor a_rI = take_tensor(file, target.adapter.a_name(), {target.rank, target.in}, taken);
    const at::Tensor b_Or = take_tensor(file, target.adapter.b_name(), {target.out, target.rank}, taken);
    const at::Tensor magnitude_O = target.adapter.dora == nullptr
                                       ? at::Tensor()
                                       : take_tensor(file, target.adapter.magnitude_name(), {target.out}, taken);
    put_on(target, config, model.split_rules(), place, a_rI, b_Or, magnitude_O);
  }
  for (const auto& [name, entry] : file.entries()) {
    if (model.is_whole() && !taken.contains(name)) {
      throw_invalid_argument(fmt::format("{}: tensor '{}' belongs to no module that {} targets in this model",
                                         file.path(), name, kAdapterConfigFile));
    }
  }
  return config;
}

}  // namespace

double LoraConfig::scale() const {
  const double divisor = static_cast<double>(rank);
  return alpha / (use_rslora ? std::sqrt(divisor) : divisor);
}

LoraConfig apply_lora(CausalLM& model, const job::LoraOptions& options, uint64_t seed, const TensorPlace& place) {
  LoraConfig config;
  if (options.adapter_dir.empty()) {
    config = config_from_options(model, options);
    put_on_fresh(model, config, seed, place);
  } else {
    config = put_on_from_folder(model, options.adapter_dir, place);
  }
  freeze_base(model);
  return config;
}

std::vector<NamedTensor> lora_parameters(CausalLM& model) {
  std::vector<NamedTensor> adapters;
  for (const Adapter& adapter : adapters_of(model.linears(), model.expert_stacks())) {
    adapters.emplace_back(adapter.a_name(), adapter.tensors->a_rI);
    adapters.emplace_back(adapter.b_name(), adapter.tensors->b_Or);
    if (adapter.dora != nullptr) {
      adapters.emplace_back(adapter.magnitude_name(), adapter.dora->magnitude_O);
    }
  }
  return adapters;
}

void save_lora(CausalLM& model, const LoraConfig& config, const std::string& output_dir) {
  save_lora(model, config, lora_parameters(model), output_dir);
}

void save_lora(const CausalLM& model, const LoraConfig& config, const std::vector<NamedTensor>& adapters,
               const std::string& output_dir) {
  save_adapter_folder(output_dir, adapter_config_text(config, model.config().source_dir), adapters);
}

}  // namespace assay::engine
