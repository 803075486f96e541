// What the plans of all kinds of training have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "job/parallel_plan.h"

namespace assay::job {

/// Plain data. A kind of plan has the defaults that stand here unless it names others.
struct TrainingPlan : ParallelPlan {
  std::string model_dir;  ///< Hugging Face folder; weights are random when it holds only config.json
  std::string data_uri;   ///< of a data set of shards that is read while it trains; empty: rows or images are in files
  std::string data_fingerprint;                  ///< of that data set
  std::string data_cache;                        ///< a folder that keeps its shards; empty: none
  int64_t data_cache_bytes = int64_t{10} << 30;  ///< that the folder may take
  int64_t data_threads = 2;                      ///< that fetch and unpack its shards
  bool shuffle = false;                          ///< another seeded permutation each epoch instead of file order
  uint64_t seed = 42;

  int64_t batch_size = 4;  ///< of a data rank: rows of a micro-batch; images of a step
  int64_t gradient_accumulation_steps = 1;
  /// off | on (every layer) | auto (as few layers as the memory allows) | a number of layers
  std::string gradient_checkpointing = "off";

  std::string optimizer = "adamw_torch";  ///< a name of engine/optim's table; over ranks adamw_torch alone
  double learning_rate = 1e-5;            ///< as the optimiser gets it; not multiplied by the number of ranks
  double weight_decay = 0.0;
  std::string lr_scheduler_type = "cosine";  ///< cosine | linear | constant
  double warmup_ratio = 0.03;                ///< of all optimiser steps
  double max_grad_norm = 1.0;                ///< global norm that gradients are clipped to; 0: no clipping

  int64_t max_steps = -1;  ///< optimiser steps; -1: num_train_epochs decides
  int64_t num_train_epochs = 1;
  double stop_after_seconds = -1;  ///< checked after each step; 0 or less: never

  std::string device = "auto";      ///< auto | cpu | cuda
  int64_t threads = 0;              ///< CPU threads a rank; 0: its share of those the process may use
  int64_t memory_budget_bytes = 0;  ///< a rank's tensor memory beyond it is an out-of-memory outcome; 0: no budget
  std::string output_dir;           ///< where `save`, `save_every` and `resume` have their files; empty: none of them
  std::string save = "none";        ///< none | final
  int64_t save_every = 0;           ///< steps from one checkpoint (output_dir/step-N) to the next; 0: none
  bool resume = false;              ///< from the last checkpoint in output_dir, where there is one
  std::string checkpoint_writer = "sync";  ///< sync | async: the training goes on while a copy of the state is written
  std::string local_dir;              ///< where checkpoints are written first, and output_dir after; empty: nowhere
  int64_t keep = 0;                   ///< of the checkpoints the last so many; 0: all
  int64_t keep_best = 0;              ///< and those with the lowest `keep_best_by`
  std::string keep_best_by = "loss";  ///< loss (of the step) | eval_loss (of the held-out rows)
  int64_t max_shard_mib = 4768;       ///< of the files with a model's weights that `save` writes; transformers' 5 GB
};

inline constexpr int64_t kAutoCheckpointing = -1;
/// TrainingPlan::gradient_checkpointing as a number of layers: all that there are for "on", kAutoCheckpointing for
/// "auto".
Result<int64_t> CheckpointedLayers(std::string_view text);

}  // namespace assay::job
