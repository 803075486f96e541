// The plan of one ViT training over ranks: what the controller writes into plan.json and every rank carries out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/training_plan.h"

namespace assay::job {

/// One training of a ViTForImageClassification. Plain data. batch_size is a multiple of the accumulation steps, which
/// it is cut into; the last, partial batch of an epoch is dropped. Of a cosine the rate rises linearly, (k + 1) / W in
/// step k of the first W = floor(warmup_ratio x steps), and then falls to 0, as ColossalAI's CosineAnnealingWarmupLR.
struct VitPlan : TrainingPlan {
  static constexpr int kSchema = 1;

  /// With the defaults of the reference's ViT training where these are others than a language model's.
  VitPlan() {
    shuffle = true;
    batch_size = 8;
    learning_rate = 3e-4;
    weight_decay = 0.1;
    warmup_ratio = 0.3;
    max_grad_norm = 0;
    num_train_epochs = 3;
  }

  int64_t num_labels = 0;  ///< classes of the head, new where the weights have another number; 0: as config.json says

  /// A data::ImageFile with the images to train on, at the model's image size; empty when `synthetic`, and where they
  /// come from data_uri.
  std::string train_file;
  std::string eval_file;  ///< one to evaluate on; empty: no evaluation
  /// Pixels are drawn (standard normal) instead of read, labels uniform below synthetic_labels, or below the model's
  /// classes where those are fewer: a function of seed, step and the sample's place in the global batch, so that every
  /// plugin and number of ranks sees the same.
  bool synthetic = false;
  int64_t synthetic_labels = 10;
  std::vector<double> image_mean = {0.5, 0.5, 0.5};  ///< pixels are (value / 255 - mean) / std, by channel
  std::vector<double> image_std = {0.5, 0.5, 0.5};

  /// fp32 | bf16 | fp16 (parameters and activations, with fp32 masters) | amp_bf16 | amp_fp16 (autocast over fp32
  /// parameters) | fp8 (bf16 arithmetic, gathered and kept between uses in 8 bits)
  std::string precision = "fp32";
  double loss_scale = 1;  ///< the first one; of fp16 and amp_fp16 only

  /// How the steps are measured.
  /// - train: as they come.
  /// - published: no warm-up, data made inside the timed loop, peak memory not reset after initialisation.
  /// - fair: steps until their time is stable (at most max_warmup_steps) come first and do not count in max_steps; peak
  ///   memory of initialisation and of the steady state apart.
  std::string protocol = "train";
  int64_t max_warmup_steps = 50;
  bool evaluate_every_epoch = true;  ///< else after the last epoch only

  bool dry_run = false;  ///< nothing is computed or sent: the memory ledger and collectives are predicted
};

/// What decides whether a plan can be carried out at all, apart from its files and devices: names, ranges, the mesh,
/// batches that divide. One line.
Status CheckVitPlan(const VitPlan& plan);

/// Pieces that a data rank's batch_size is cut into: gradient_accumulation_steps; of hybrid_parallel, microbatches.
int64_t MicroBatches(const VitPlan& plan);

/// JSON both ways, with "kind": "vit". Reading refuses an unknown key and a newer schema by name; it does not check
/// values (CheckVitPlan).
nlohmann::json ToJson(const VitPlan& plan);
Result<VitPlan> VitPlanFromJson(const nlohmann::json& json);

}  // namespace assay::job
