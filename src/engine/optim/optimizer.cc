#include "engine/optim/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "base/json.h"
#include "engine/optim/adamw.h"
#include "engine/optim/one_state.h"
#include "engine/optim/sgd.h"

namespace assay::engine {
namespace {

using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

template <typename T>
std::unique_ptr<Optimizer> make(NamedParameters parameters, const OptimizerOptions& options) {
  return std::make_unique<T>(std::move(parameters), options);
}

/// `word` in `name`, with a dot or an end on each side that asks for one.
bool has_component(std::string_view name, std::string_view word, bool open_left) {
  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool left = open_left || at == 0 || name[at - 1] == '.';
    const bool right = end == name.size() || name[end] == '.';
    if (left && right) {
      return true;
    }
  }
  return false;
}

}  // namespace

const std::vector<OptimizerEntry>& optimizer_table() {
  // The two AdamW names differ in the reference only by how the same update is computed.
  static const std::vector<OptimizerEntry> table = {
      {"adamw_torch", &make<Adamw>},
      {"adamw_torch_fused", &make<Adamw>},
      {"sgd", &make<Sgd>},
      {"adagrad", &make_adagrad},
      {"rmsprop", &make_rmsprop},
      {"lion_32bit", &make_lion},
      {"adafactor", nullptr},
      {"adalomo", nullptr},
      {"adamw_8bit", nullptr},
      {"adamw_anyprecision", nullptr},
      {"adamw_bnb_8bit", nullptr},
      {"adamw_torch_4bit", nullptr},
      {"adamw_torch_8bit", nullptr},
      {"adamw_torch_npu_fused", nullptr},
      {"adamw_torch_xla", nullptr},
      {"ademamix", nullptr},
      {"ademamix_8bit", nullptr},
      {"apollo_adamw", nullptr},
      {"apollo_adamw_layerwise", nullptr},
      {"galore_adafactor", nullptr},
      {"galore_adafactor_layerwise", nullptr},
      {"galore_adamw", nullptr},
      {"galore_adamw_8bit", nullptr},
      {"galore_adamw_8bit_layerwise", nullptr},
      {"galore_adamw_layerwise", nullptr},
      {"grokadamw", nullptr},
      {"lion_8bit", nullptr},
      {"lomo", nullptr},
      {"paged_adamw_32bit", nullptr},
      {"paged_adamw_8bit", nullptr},
      {"paged_ademamix_32bit", nullptr},
      {"paged_ademamix_8bit", nullptr},
      {"paged_lion_32bit", nullptr},
      {"paged_lion_8bit", nullptr},
      {"rmsprop_bnb", nullptr},
      {"rmsprop_bnb_32bit", nullptr},
      {"rmsprop_bnb_8bit", nullptr},
      {"schedule_free_adamw", nullptr},
      {"schedule_free_radam", nullptr},
      {"schedule_free_sgd", nullptr},
      {"stable_adamw", nullptr},
  };
  return table;
}

Status check_optimizer_name(std::string_view name) {
  std::vector<std::string> known;
  std::string supported;
  for (const OptimizerEntry& entry : optimizer_table()) {
    if (entry.name == name && entry.make != nullptr) {
      return Status::Ok();
    }
    known.emplace_back(entry.name);
    if (entry.make != nullptr) {
      supported += fmt::format("{}{}", supported.empty() ? "" : ", ", entry.name);
    }
  }
  if (std::find(known.begin(), known.end(), name) != known.end()) {
    return Status::Unsupported(fmt::format("optimizer '{}' is not supported yet (choose one of {})", name, supported));
  }
  const std::string nearest = NearestName(name, known);
  return Status::InvalidArgument(nearest.empty()
                                     ? fmt::format("unknown optimizer '{}' (choose one of {})", name, supported)
                                     : fmt::format("unknown optimizer '{}' (did you mean '{}'?)", name, nearest));
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, NamedParameters parameters,
                                          const OptimizerOptions& options) {
  if (Status status = check_optimizer_name(name); !status.ok()) {
    throw std::invalid_argument(status.message());
  }
  const auto& table = optimizer_table();
  const auto entry = std::find_if(table.begin(), table.end(), [&](const OptimizerEntry& e) { return e.name == name; });
  return entry->make(std::move(parameters), options);
}

bool applies_weight_decay(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto contains = [&](std::string_view word) { return lower.find(word) != std::string::npos; };
  // GPT-2's layer norms are called ln_1; transformers knows them by their class.
  return !contains("bias") && !contains("layernorm") && !contains("rmsnorm") && !contains(".ln_") &&
         !has_component(lower, "norm", false) && !has_component(lower, "_norm", true);
}

}  // namespace assay::engine
