// The plan of one fine-tune: what the controller writes into plan.json and the worker carries out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "job/text_sample.h"
#include "job/training_plan.h"

namespace assay::job {

/// LoRA as peft defines it (Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models").
struct LoraOptions {
  int64_t rank = 4;
  double alpha = 16;
  double dropout = 0.05;
  /// The update is scaled by alpha / sqrt(rank) in place of alpha / rank (Kalajdzievski 2023, "A Rank Stabilization
  /// Scaling Factor for Fine-Tuning with LoRA").
  bool use_rslora = false;
  /// The lengths of the weight's rows are trained apart from their directions (Liu et al. 2024, "DoRA:
  /// Weight-Decomposed Low-Rank Adaptation").
  bool use_dora = false;
  /// Matched against module paths as peft does: the whole path, or its last components.
  std::vector<std::string> target_modules = {"q_proj", "v_proj"};
  /// A peft adapter folder to start from; empty: A is drawn (Kaiming uniform), B is zero.
  std::string adapter_dir;
};

/// Prompt tuning as peft defines it: trained embeddings before each row of a frozen model (Lester et al. 2021, "The
/// Power of Scale for Parameter-Efficient Prompt Tuning").
struct PromptOptions {
  int64_t length = 8;           ///< embeddings, peft's num_virtual_tokens
  std::string init = "random";  ///< text | random: what they start as
  std::string init_text;        ///< of text
  /// Its tokens, whose embeddings they start as: cut or repeated to `length`. The controller has the tokeniser.
  std::vector<int64_t> init_ids;
  std::string adapter_dir;  ///< a peft adapter folder to start from; the other options are not looked at
};

/// One fine-tune of a language model. Plain data; every field has the default of the reference trainer unless it says
/// otherwise. A step of several data ranks is the step of one rank with as many times the accumulation: the same rows,
/// dealt so that all ranks have like numbers of tokens.
struct TunePlan : TrainingPlan {
  static constexpr int kSchema = 1;

  std::string tokens_file;        ///< data::TokenFile with the tokenised rows; empty: they come from data_uri
  std::string tokenizer;          ///< the folder of what made them, for results; empty: the rows brought their ids
  std::string response_template;  ///< of its {"output"} rows
  std::string method = "full";    ///< full | lora | prompt
  LoraOptions lora;
  PromptOptions prompt;
  /// 2, 3, 4 or 8: the products of the layers have weights of so many bits, rounded to the nearest values when they are
  /// loaded; 0: they are as the folder has them, which may be quantised itself.
  int64_t quantize_bits = 0;
  int64_t quantize_group_size = 128;  ///< inputs that share a scale; -1: all

  std::string eval_tokens_file;  ///< a data::TokenFile of rows that are held out; empty: none are
  int64_t eval_every = 0;        ///< steps from one evaluation to the next, with one more after the last; 0: that alone
  /// The run ends when so many evaluations in a row were no better than the best; 0: never.
  int64_t early_stopping = 0;

  /// What batch_size counts are packs of rows of model_max_length tokens together, none of which sees another.
  bool packing = false;
  int64_t model_max_length = 512;  ///< rows are cut to this many tokens
  std::string dtype = "bfloat16";  ///< float32 | bfloat16 | float16, of parameters and activations
  /// auto (adapted to the gradients in float16, off in other dtypes) | off | a number that it stays at. A step whose
  /// gradients overflow with it changes nothing.
  std::string loss_scale = "auto";
  TextSample sample;               ///< made before the first step and after the last; on one rank without a plugin
  double label_smoothing = 0;      ///< share of each target that is spread over the whole vocabulary
  double neftune_noise_alpha = 0;  ///< of noise on the embeddings; 0: none
  std::string auto_stop_method;    ///< "" | WARMUP_60S_STABLE_120S_OR_10_STEPS
};

/// Pieces that a pipeline cuts batch_size into: rows one by one unless the knob says otherwise. 1 without stages.
int64_t MicroBatches(const TunePlan& plan);

/// Whose weights these are, for results: "file" or "random", with the bits that a folder has them in (`stored_bits`),
/// or that the plan rounds them to; 0: they are not quantised.
std::string DescribeWeights(bool from_file, int64_t stored_bits, const TunePlan& plan);

/// Refuses, in one line, bits and groups that weights are not quantised to.
Status CheckQuantization(const TunePlan& plan);
/// Refuses, in one line, how a quantised model cannot be trained.
Status CheckTrainsQuantised(const TunePlan& plan);

/// Refuses, in one line, what asks for evaluations that there are not.
Status CheckEvaluation(const TunePlan& plan);

/// Refuses, in one line, ranks, a plugin or knobs that a language model cannot be trained with, with what the plan does
/// to its weights.
Status CheckParallel(const TunePlan& plan);

inline constexpr double kAutoLossScale = -1;
/// TunePlan::loss_scale as a number: 0 for "off", kAutoLossScale for "auto".
Result<double> LossScale(std::string_view text);

/// JSON both ways. Reading refuses an unknown key and a newer schema by name.
nlohmann::json ToJson(const TunePlan& plan);
Result<TunePlan> TunePlanFromJson(const nlohmann::json& json);

}  // namespace assay::job
