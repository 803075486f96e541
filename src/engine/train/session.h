// Everything that a run holds once it is loaded.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "data/token_file.h"
#include "engine/adapter/lora.h"
#include "engine/model/causal_lm.h"
#include "engine/optim/loss_scaler.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/schedule.h"
#include "engine/train/checkpointing.h"
#include "engine/train/order.h"
#include "job/tune_plan.h"

namespace assay::engine {

struct Session {
  std::unique_ptr<CausalLM> model;
  bool random_weights = false;
  std::optional<LoraConfig> lora;  ///< set when the method is lora
  std::vector<at::Tensor> trainable;
  std::unique_ptr<Optimizer> optimizer;
  data::TokenFile rows;
  RowOrder order;
  int64_t planned_steps = 0;
  std::optional<LossScaler> scaler;  ///< unset: the loss is not scaled
  CheckpointingChoice checkpointing;
  Schedule schedule;
};

/// Loads rows, model and adapter and makes the optimiser, within the plan's memory budget. Throws StatusError for
/// whatever is wrong with the plan's files, or when plan and files do not fit together.
Session load_session(const job::TunePlan& plan, c10::Device device);

}  // namespace assay::engine
