// Low-rank adapters as peft makes them (Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/causal_lm.h"
#include "job/tune_plan.h"

namespace assay::engine {

/// What an adapter folder's adapter_config.json holds.
struct LoraConfig {
  int64_t rank = 8;
  double alpha = 8;
  double dropout = 0.0;
  bool use_dora = false;    ///< rows' lengths are trained apart (dora.h)
  bool use_rslora = false;  ///< scale alpha / sqrt(rank) instead of alpha / rank
  /// As peft matches them: each is a whole module path or its last components.
  std::vector<std::string> target_modules;
  /// Tensors of experts, matched likewise ("experts.gate_up_proj"): peft's target_parameters.
  std::vector<std::string> target_parameters;
  /// Instead of a list: a regular expression that a whole module path must match. Empty when target_modules is set.
  std::string target_pattern;

  double scale() const;
};

/// Puts LoRA on `model` and freezes every base parameter. A is drawn from Kaiming uniform (a = sqrt(5)) by `seed`, B is
/// zero; both are float32 and require grad whatever the dtype of the base (peft's autocast_adapter_dtype).
///
/// `options.target_modules` is matched as peft does: module names or path suffixes, `all-linear`, or, as its only
/// entry, a regular expression. A name of experts' tensors ("experts.gate_up_proj") may be among them, which peft has
/// as target_parameters: without dropout, and not over tensor ranks. With DoRA rows start at the lengths of the frozen
/// weight's; not of experts nor of quantised weights, and not over tensor ranks, as it is. When `options.adapter_dir`
/// is set, rank, alpha, dropout, targets and weights are those of that folder and the other options are not looked at.
/// Of each adapter a model with parts of its features gets those of the rank at `place`. Returns what was put on.
/// Throws StatusError: a target that matches nothing (with the available ones), or an unusable adapter folder.
LoraConfig apply_lora(CausalLM& model, const job::LoraOptions& options, uint64_t seed, const TensorPlace& place = {});

/// The adapters that are on, under peft's names ("base_model.model.<module path>.lora_A.weight").
std::vector<NamedTensor> lora_parameters(CausalLM& model);

/// Writes a folder which peft's from_pretrained reads, as save_adapter_folder().
void save_lora(CausalLM& model, const LoraConfig& config, const std::string& output_dir);
/// The same with the `adapters` given: of a model whose own are spread over ranks.
void save_lora(const CausalLM& model, const LoraConfig& config, const std::vector<NamedTensor>& adapters,
               const std::string& output_dir);

}  // namespace assay::engine
