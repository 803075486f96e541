#include "samplestore/measurement_schema1.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "samplestore/dependencies.h"

namespace assay::samplestore {
namespace {

enum class Kind { kNumber, kFlag, kWord, kText };

struct Parameter {
  std::string_view name;
  Kind kind;  ///< a word has neither dashes nor slashes
};

/// The optional properties that experiments had when parameters stood in ids alone.
constexpr Parameter kParameters[] = {
    {"accelerate_config_fsdp_transformer_layer_cls_to_wrap", Kind::kText},
    {"accelerate_config_mixed_precision", Kind::kWord},
    {"auto_stop_method", Kind::kWord},
    {"bf16", Kind::kFlag},
    {"bucket_mib", Kind::kNumber},
    {"communication_dtype", Kind::kWord},
    {"dataset_id", Kind::kText},
    {"dataset_image_field", Kind::kWord},
    {"dataset_kwargs_skip_prepare_dataset", Kind::kFlag},
    {"dataset_text_field", Kind::kWord},
    {"distributed_backend", Kind::kWord},
    {"enable_roce", Kind::kFlag},
    {"fast_kernels", Kind::kWord},
    {"fast_moe", Kind::kNumber},
    {"flash_attn", Kind::kFlag},
    {"fms_hf_tuning_version", Kind::kWord},
    {"fsdp_sharding_strategy", Kind::kWord},
    {"fsdp_state_dict_type", Kind::kWord},
    {"fsdp_use_orig_params", Kind::kFlag},
    {"gate_steps", Kind::kNumber},
    {"gpu_model", Kind::kText},
    {"gradient_accumulation_steps", Kind::kNumber},
    {"gradient_checkpointing", Kind::kFlag},
    {"gradient_checkpointing_use_reentrant", Kind::kFlag},
    {"learning_rate", Kind::kNumber},
    {"lora_alpha", Kind::kNumber},
    {"max_steps", Kind::kNumber},
    {"max_train_steps", Kind::kNumber},
    {"memory_budget", Kind::kText},
    {"memory_cap", Kind::kText},
    {"microbatches", Kind::kNumber},
    {"no_sync", Kind::kFlag},
    {"num_train_epochs", Kind::kNumber},
    {"number_nodes", Kind::kNumber},
    {"number_ranks", Kind::kNumber},
    {"offload_optim_frac", Kind::kNumber},
    {"offload_param_frac", Kind::kNumber},
    {"optim", Kind::kWord},
    {"overlap", Kind::kFlag},
    {"placement", Kind::kWord},
    {"pp_size", Kind::kNumber},
    {"precision", Kind::kWord},
    {"prefetch", Kind::kNumber},
    {"protocol", Kind::kWord},
    {"r", Kind::kNumber},
    {"remove_unused_columns", Kind::kFlag},
    {"seed", Kind::kNumber},
    {"shard_param_frac", Kind::kNumber},
    {"shard_ranks", Kind::kNumber},
    {"stop_after_seconds", Kind::kNumber},
    {"target_modules", Kind::kText},
    {"threads", Kind::kNumber},
    {"torch_dtype", Kind::kWord},
    {"tp_size", Kind::kNumber},
    {"zero_stage", Kind::kNumber},
};

bool Fits(Kind kind, const space::Value& value, std::string_view text) {
  const bool none = std::holds_alternative<std::monostate>(value);
  switch (kind) {
    case Kind::kNumber:
      return none || std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
    case Kind::kFlag:
      return none || std::holds_alternative<bool>(value);
    case Kind::kWord:
      return !text.empty() && text.find_first_of("-/") == std::string_view::npos;
    case Kind::kText:
      return !text.empty();
  }
  return false;
}

/// Finds the reading of `rest`, which is empty or begins with "-name.", that has the most parameters: a text ends where
/// the next name begins. Names stood in alphabetical order.
void Read(std::string_view rest, std::string_view after, space::Entity& so_far, space::Entity& best) {
  if (rest.empty() && so_far.size() > best.size()) {
    best = so_far;
  }
  for (const Parameter& parameter : kParameters) {
    const std::string prefix = fmt::format("-{}.", parameter.name);
    if (parameter.name <= after || !rest.starts_with(prefix)) {
      continue;
    }
    for (size_t end = rest.find('-', prefix.size());; end = rest.find('-', end + 1)) {
      const std::string_view text = rest.substr(prefix.size(), std::min(end, rest.size()) - prefix.size());
      const space::Value value = space::ValueFromText(text);
      if (Fits(parameter.kind, value, text)) {
        so_far[std::string(parameter.name)] = value;
        Read(rest.substr(prefix.size() + text.size()), parameter.name, so_far, best);
        so_far.erase(std::string(parameter.name));
      }
      if (end == std::string_view::npos) {
        break;
      }
    }
  }
}

space::Entity ParametersIn(const Measurement& measurement) {
  if (!measurement.parameterized_id.starts_with(measurement.experiment)) {
    return {};
  }
  space::Entity so_far;
  space::Entity best;
  Read(std::string_view(measurement.parameterized_id).substr(measurement.experiment.size()), "", so_far, best);
  return best;
}

Facts DependenciesIn(const Measurement& measurement) {
  const auto& provenance = measurement.provenance;
  const auto found_by = provenance.find("out_of_memory_found_by");
  const bool by_kernel = found_by != provenance.end() && found_by->second == "kernel";
  if (measurement.outcome == Outcome::kInvalid && (by_kernel || !provenance.contains("run_end"))) {
    // Whose memory use it was is not known; and judging again what needed no run costs nothing.
    return {{kModelHash, "unknown"}};
  }
  Facts depends_on = {{kMachine, MachineKind(provenance)}};
  for (const char* name : {kLibtorch, kCommit, kModelHash, kDataHash, kTokenizerHash}) {
    if (const auto found = provenance.find(name); found != provenance.end()) {
      depends_on[name] = found->second;
    }
  }
  return depends_on;
}

}  // namespace

void UpgradeFromSchema1(Measurement& measurement) {
  measurement.parameters = ParametersIn(measurement);
  measurement.depends_on = DependenciesIn(measurement);
  if (const std::string kind = MachineKind(measurement.provenance); !kind.empty()) {
    measurement.provenance.emplace(kMachine, kind);
  }
}

}  // namespace assay::samplestore
