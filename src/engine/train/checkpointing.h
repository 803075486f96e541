// How many decoder layers a run checkpoints: what the plan says, or what the memory at hand asks for.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "data/token_file.h"
#include "engine/comm/communicator.h"
#include "engine/model/causal_lm.h"
#include "job/tune_plan.h"

namespace assay::engine {

/// What the largest micro-batch of a run needs, in bytes of tensors beyond what is loaded.
struct StepNeed {
  ActivationCost activations;
  int64_t gradient_bytes = 0;  ///< of all trainable parameters
  bool accumulates = false;    ///< gradients of one micro-batch are there while the next one runs
};

/// The highest sum of live tensors of a step with `checkpointed_layers` layers checkpointed: either at the loss, when
/// all activations are there, or at the end of backward, when all gradients are.
int64_t step_bytes(const StepNeed& need, int64_t checkpointed_layers);

/// The fewest checkpointed layers with which a step fits into `available_bytes`; all when none does.
int64_t fewest_checkpointed_layers(const StepNeed& need, int64_t available_bytes);

/// Tokens of the largest micro-batch, rows cut to plan.model_max_length, each with the prompt before it. With
/// shuffling, and where rows are dealt to ranks, an upper bound over all orders.
int64_t most_tokens(const data::TokenFile& rows, const job::TunePlan& plan);
/// Of any row, cut likewise.
int64_t longest_row(const data::TokenFile& rows, const job::TunePlan& plan);

/// What a plan's gradient_checkpointing asks for: a number up to `layers`, or job::kAutoCheckpointing. Throws
/// StatusError for a number above the model's `layers`.
int64_t layers_asked_for(const std::string& gradient_checkpointing, int64_t layers);

/// The most that any of `ranks` (null: there is one) must checkpoint, which all then do: each sees other free memory,
/// and layers that are forwarded again in backward call collectives again. All call it together.
int64_t agree_on_checkpointing(Communicator* ranks, int64_t layers);

/// What of the device's free memory a run may take: the rest is for what is no tensor, and for neighbours.
int64_t usable_bytes(c10::Device device);

struct CheckpointingChoice {
  int64_t layers = 0;               ///< that keep activations
  int64_t checkpointed_layers = 0;  ///< of these
  int64_t step_bytes = 0;           ///< expected of the largest micro-batch
  int64_t kept_bytes = 0;           ///< of these, what layers keep from forward to backward
  int64_t available_bytes = 0;      ///< that `auto` chose for; 0 when the plan names the layers
};

/// Where the memory for a step is to come from.
struct StepRoom {
  c10::Device device;
  int64_t untouched_bytes = 0;    ///< that the optimiser has allocated but not yet written
  int64_t local_ranks = 1;        ///< that share this machine
  bool has_gradients = false;     ///< room for them is taken already
  int64_t in_flight = 1;          ///< micro-batches whose activations are held at once
  Communicator* ranks = nullptr;  ///< that checkpoint alike; null: there is one
  std::optional<int64_t> foretold_layers =
      {};  ///< which checkpointed steps on shapes need, where they were gone through
};

/// Carries out plan.gradient_checkpointing for a loaded model with its adapters and optimiser: decides, and sets it on
/// `model`. `auto` fits the step into what the plan's budget leaves, or into nine tenths of the memory that the device
/// has free, less the untouched bytes, of which each rank of a host has its part: by the steps on shapes, or else by
/// what layers say of themselves.
CheckpointingChoice set_checkpointing(const job::TunePlan& plan, const data::TokenFile& rows, const StepRoom& room,
                                      CausalLM& model);

}  // namespace assay::engine
