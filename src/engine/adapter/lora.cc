#include "engine/adapter/lora.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "engine/adapter/adapter_config.h"
#include "engine/adapter/adapter_folder.h"
#include "engine/adapter/target_modules.h"
#include "engine/adapter/trainable.h"
#include "engine/model/random_normal.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

std::string a_name(const Linear& linear) {
  return "base_model.model." + linear.path + ".lora_A.weight";
}
std::string b_name(const Linear& linear) {
  return "base_model.model." + linear.path + ".lora_B.weight";
}

/// A linear layer with the sizes that it has in the whole model.
struct Target {
  Linear& linear;
  int64_t out;
  int64_t in;
};

std::vector<Target> targets_of(CausalLM& model, const LoraConfig& config, const TensorPlace& place, Matching matching) {
  const std::vector<Linear*> linears = model.linears();
  std::vector<std::string> paths;
  for (const Linear* linear : linears) {
    paths.push_back(linear->path);
  }
  std::vector<Target> targets;
  for (const size_t index : matched_modules(paths, config, matching)) {
    Linear& linear = *linears[index];
    const std::vector<int64_t> whole =
        whole_shape(model.split_rules(), linear.path + ".weight", linear.weight_OI.sizes().vec(), place.ranks);
    targets.push_back({linear, whole[0], whole[1]});
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
    config.target_modules = targets;
  }
  return config;
}

at::TensorOptions adapter_options(const Linear& linear) {
  return at::TensorOptions().dtype(at::kFloat).device(linear.weight_OI.device());
}

/// The rank's part of an adapter of the whole layer.
void put_on(const Target& target, const LoraConfig& config, SplitRules rules, const TensorPlace& place,
            const at::Tensor& a_rI, const at::Tensor& b_Or) {
  Linear& linear = target.linear;
  const auto part = [&](const std::string& name, const at::Tensor& whole) {
    return cut_for_rank(rules, name, whole, place).to(adapter_options(linear)).requires_grad_();
  };
  linear.lora = LoraTensors{.a_rI = part(a_name(linear), a_rI),
                            .b_Or = part(b_name(linear), b_Or),
                            .scale = config.scale(),
                            .dropout = config.dropout};
}

/// Kaiming uniform with a = sqrt(5) (He et al. 2015) has the bound sqrt(6 / ((1 + a^2) fan_in)) = 1 / sqrt(fan_in).
at::Tensor draw_a(const Target& target, int64_t rank, uint64_t seed) {
  if (target.linear.weight_OI.is_meta()) {
    return at::empty({rank, target.in}, adapter_options(target.linear));
  }
  at::Tensor a_rI = at::empty({rank, target.in}, at::kFloat);
  fill_uniform(a_rI, 1.0 / std::sqrt(static_cast<double>(target.in)), stream_key(seed, a_name(target.linear)));
  return a_rI;
}

void put_on_fresh(CausalLM& model, const LoraConfig& config, uint64_t seed, const TensorPlace& place) {
  const Matching matching = model.is_whole() ? Matching::kEveryTarget : Matching::kPartOfModel;
  for (const Target& target : targets_of(model, config, place, matching)) {
    put_on(target, config, model.split_rules(), place, draw_a(target, config.rank, seed),
           at::zeros({target.out, config.rank}, adapter_options(target.linear)));
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
    const at::Tensor a_rI = take_tensor(file, a_name(target.linear), {config.rank, target.in}, taken);
    const at::Tensor b_Or = take_tensor(file, b_name(target.linear), {target.out, config.rank}, taken);
    put_on(target, config, model.split_rules(), place, a_rI, b_Or);
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
  for (const Linear* linear : model.linears()) {
    if (linear->lora) {
      adapters.emplace_back(a_name(*linear), linear->lora->a_rI);
      adapters.emplace_back(b_name(*linear), linear->lora->b_Or);
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
