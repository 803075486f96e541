// The plan of one fine-tune: what the controller writes into plan.json and the worker carries out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "job/parallel_plan.h"

namespace assay::job {

/// LoRA as peft defines it (Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models").
struct LoraOptions {
  int64_t rank = 4;
  double alpha = 16;
  double dropout = 0.05;
  /// Matched against module paths as peft does: the whole path, or its last components.
  std::vector<std::string> target_modules = {"q_proj", "v_proj"};
  /// A peft adapter folder to start from; empty: A is drawn (Kaiming uniform), B is zero.
  std::string adapter_dir;
};

/// One fine-tune of a language model. Plain data; every field has the default of the reference trainer unless it says
/// otherwise. A step of several data ranks is the step of one rank with as many times the accumulation: the same rows,
/// dealt so that all ranks have like numbers of tokens.
struct TunePlan : ParallelPlan {
  static constexpr int kSchema = 1;

  std::string model_dir;        ///< Hugging Face folder; weights are random when it holds only config.json
  std::string tokens_file;      ///< data::TokenFile with the tokenised rows
  std::string tokenizer;        ///< the folder of what made them, for results; empty: the rows brought their ids
  std::string method = "full";  ///< full | lora
  LoraOptions lora;

  int64_t batch_size = 4;  ///< rows a micro-batch and data rank
  int64_t gradient_accumulation_steps = 1;
  int64_t model_max_length = 512;  ///< rows are cut to this many tokens
  std::string dtype = "bfloat16";  ///< float32 | bfloat16 | float16, of parameters and activations
  /// off | on (every layer) | auto (as few layers as the memory allows) | a number of layers
  std::string gradient_checkpointing = "off";

  /// auto (adapted to the gradients in float16, off in other dtypes) | off | a number that it stays at. A step whose
  /// gradients overflow with it changes nothing.
  std::string loss_scale = "auto";

  std::string optimizer = "adamw_torch";  ///< a name of engine/optim's table; over ranks adamw_torch alone
  double learning_rate = 1e-5;
  double weight_decay = 0.0;
  std::string lr_scheduler_type = "cosine";  ///< cosine | linear | constant
  double warmup_ratio = 0.03;                ///< of all optimiser steps, rounded up
  double max_grad_norm = 1.0;                ///< 0: no clipping

  int64_t max_steps = -1;  ///< optimiser steps; -1: num_train_epochs decides
  int64_t num_train_epochs = 1;
  double stop_after_seconds = -1;  ///< checked after each step; -1: never
  std::string auto_stop_method;    ///< "" | WARMUP_60S_STABLE_120S_OR_10_STEPS
  bool shuffle = false;            ///< a seeded permutation an epoch instead of file order
  uint64_t seed = 42;

  std::string device = "auto";      ///< auto | cpu | cuda
  int64_t threads = 0;              ///< CPU threads a rank; 0: its share of those the process may use
  int64_t memory_budget_bytes = 0;  ///< a rank's tensor memory beyond it is an out-of-memory outcome; 0: no budget
  std::string output_dir;           ///< where `save` puts its files; empty when save is none
  std::string save = "none";        ///< none | final
};

/// Refuses, in one line, ranks, a plugin or knobs that a language model cannot be trained with.
Status CheckParallel(const TunePlan& plan);

/// Whether the plan's gradients and weights are spread over ranks by a plugin. On one rank torch_ddp has nothing to do.
bool IsOverRanks(const TunePlan& plan);

inline constexpr int64_t kAutoCheckpointing = -1;
/// TunePlan::gradient_checkpointing as a number of layers: all that there are for "on", kAutoCheckpointing for "auto".
Result<int64_t> CheckpointedLayers(std::string_view text);

inline constexpr double kAutoLossScale = -1;
/// TunePlan::loss_scale as a number: 0 for "off", kAutoLossScale for "auto".
Result<double> LossScale(std::string_view text);

/// JSON both ways. Reading refuses an unknown key and a newer schema by name.
nlohmann::json ToJson(const TunePlan& plan);
Result<TunePlan> TunePlanFromJson(const nlohmann::json& json);

}  // namespace assay::job
