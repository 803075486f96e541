// The plan of one ViT training over ranks: what the controller writes into plan.json and every rank carries out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/parallel_plan.h"

namespace assay::job {

/// One training of a ViTForImageClassification. Plain data.
struct VitPlan : ParallelPlan {
  static constexpr int kSchema = 1;

  std::string model_dir;   ///< Hugging Face folder; weights are random when it holds only config.json
  int64_t num_labels = 0;  ///< classes of the head, new where the weights have another number; 0: as config.json says

  /// A data::ImageFile with the images to train on, at the model's image size; empty when `synthetic`.
  std::string train_file;
  std::string eval_file;  ///< one to evaluate on; empty: no evaluation
  /// Pixels are drawn (standard normal) instead of read, labels uniform below synthetic_labels, or below the model's
  /// classes where those are fewer: a function of seed, step and the sample's place in the global batch, so that every
  /// plugin and number of ranks sees the same.
  bool synthetic = false;
  int64_t synthetic_labels = 10;
  std::vector<double> image_mean = {0.5, 0.5, 0.5};  ///< pixels are (value / 255 - mean) / std, by channel
  std::vector<double> image_std = {0.5, 0.5, 0.5};
  bool shuffle = true;  ///< another seeded permutation each epoch; the last, partial batch of an epoch is dropped

  int64_t batch_size = 8;                   ///< images a data rank and step; a multiple of the accumulation steps
  int64_t gradient_accumulation_steps = 1;  ///< micro-batches that batch_size is cut into
  /// fp32 | bf16 | fp16 (parameters and activations, with fp32 masters) | amp_bf16 | amp_fp16 (autocast over fp32
  /// parameters) | fp8 (bf16 arithmetic, gathered and kept between uses in 8 bits)
  std::string precision = "fp32";
  double loss_scale = 1;  ///< the first one; of fp16 and amp_fp16 only
  /// off | on (every layer) | auto | a number of layers: see CheckpointedLayers (job/tune_plan.h)
  std::string gradient_checkpointing = "off";

  std::string optimizer = "adamw_torch";  ///< a name of engine/optim's table
  double learning_rate = 3e-4;            ///< as the optimiser gets it; not multiplied by the number of ranks
  double weight_decay = 0.1;
  /// cosine | constant. Warm-up goes linearly, (k + 1) / W in step k of the first W = floor(ratio x steps); the cosine
  /// then falls to 0, as ColossalAI's CosineAnnealingWarmupLR.
  std::string lr_scheduler_type = "cosine";
  double warmup_ratio = 0.3;
  double max_grad_norm = 0;  ///< global norm that gradients are clipped to; 0: no clipping
  int64_t max_steps = -1;    ///< optimiser steps; -1: num_train_epochs decides
  int64_t num_train_epochs = 3;
  uint64_t seed = 42;

  /// How the steps are measured.
  /// - train: as they come.
  /// - published: no warm-up, data made inside the timed loop, peak memory not reset after initialisation.
  /// - fair: steps until their time is stable (at most max_warmup_steps) come first and do not count in max_steps; peak
  ///   memory of initialisation and of the steady state apart.
  std::string protocol = "train";
  int64_t max_warmup_steps = 50;
  bool evaluate_every_epoch = true;  ///< else after the last epoch only

  std::string device = "auto";   ///< auto | cpu | cuda
  int64_t threads = 0;           ///< CPU threads a rank; 0: its share of those the process may use
  int64_t memory_cap_bytes = 0;  ///< a rank's tensor memory beyond it is an out-of-memory outcome; 0: no cap
  bool dry_run = false;          ///< nothing is computed or sent: the memory ledger and collectives are predicted
  std::string output_dir;        ///< where `save` puts its files; empty when it is none
  std::string save = "none";     ///< none | final: model.safetensors (or shards) and config.json
  int64_t max_shard_mib = 5120;  ///< of the files that `save` writes
};

/// What decides whether a plan can be carried out at all, apart from its files and devices: names, ranges, the mesh,
/// batches that divide. One line.
Status CheckVitPlan(const VitPlan& plan);

/// What of a model is divided among tensor ranks and pipeline stages.
struct DivisibleModel {
  int64_t attention_heads = 0;
  int64_t intermediate_features = 0;
  int64_t layers = 0;
};

/// Whether the plan's tensor ranks and stages divide the model: what depends on the model beside CheckVitPlan(). One
/// line.
Status CheckModelDivides(const VitPlan& plan, const DivisibleModel& model);

/// Pieces that a data rank's batch_size is cut into: gradient_accumulation_steps; of hybrid_parallel, microbatches.
int64_t MicroBatches(const VitPlan& plan);

/// JSON both ways, with "kind": "vit". Reading refuses an unknown key and a newer schema by name; it does not check
/// values (CheckVitPlan).
nlohmann::json ToJson(const VitPlan& plan);
Result<VitPlan> VitPlanFromJson(const nlohmann::json& json);

}  // namespace assay::job
