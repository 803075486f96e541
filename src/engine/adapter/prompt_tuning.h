// Prompt tuning as peft makes it (Lester et al. 2021, "The Power of Scale for Parameter-Efficient Prompt Tuning").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/causal_lm.h"
#include "job/tune_plan.h"

namespace assay::engine {

/// What an adapter folder's adapter_config.json holds.
struct PromptConfig {
  int64_t length = 8;  ///< num_virtual_tokens
  bool from_text = false;
  std::string init_text;  ///< of from_text
  std::string tokenizer;  ///< of from_text: the folder of what made its tokens
};

/// The prompt settings of `text`; `source` names it in messages. Throws StatusError for another peft_type, and for an
/// option that changes the computation and is not supported.
PromptConfig parse_prompt_config(std::string_view text, const std::string& source);

/// How many places rows have before them: 0 where `plan` trains no prompt. Reads the folder that its options name.
int64_t prompt_length(const job::TunePlan& plan);

/// Puts a prompt before the rows of `model`, where it begins the model, and freezes every base parameter. It is
/// float32 whatever the dtype of the base, as in peft, and starts as the embeddings of the options' tokens, as N(0, 1)
/// by `seed` (torch's Embedding), or as a folder has it. `tokenizer` is for the config that is saved.
/// Throws StatusError: options that contradict each other, a token outside the vocabulary, an unusable folder.
PromptConfig apply_prompt(CausalLM& model, const job::PromptOptions& options, const std::string& tokenizer,
                          uint64_t seed);

/// Writes the prompt, the only one of `weights`, as a folder that peft's from_pretrained reads. As
/// save_adapter_folder().
void save_prompt(const CausalLM& model, const PromptConfig& config, const std::vector<NamedTensor>& weights,
                 const std::string& output_dir);

}  // namespace assay::engine
