// What a worker tells its controller: one JSON object a line on standard output, in the order it happened.
//
// A worker writes `started`, of a language model on the CPU `memory_need`, `loaded`, a `step` and each rank's
// `rank_step` after each optimiser step, `saved` when it saved, and `ended` last. On the way evaluations of held-out
// rows have a `held_out_loss` each and checkpoints a `checkpointed`; a run that goes on from one has a `resumed`. A
// checkpoint benchmark has a `checkpoint_transfer` of each rank for each save or load, a connector test a
// `connector_step` at the end of each step, a sample of text a `generated` for each token. A worker that ends without
// `ended` was killed or vanished. Standard error carries human text only. What a run over ranks adds stands in
// parallel_event.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"
#include "job/connector_event.h"
#include "job/parallel_event.h"

namespace assay::job {

/// The process is up; nothing is loaded yet.
struct Started {
  int64_t pid = 0;
  std::string libtorch;  ///< version
  std::string device;    ///< cpu | cuda:0
  int64_t threads = 0;
  std::string isa;  ///< the kernels' instruction set: avx512 | avx2 | portable
};

/// What the ranks of the first one's machine will need of it together, foretold before anything is loaded, and what is
/// there. A run that cannot fit ends here, as out of memory.
struct MemoryNeed {
  int64_t ranks = 1;         ///< of the machine
  int64_t tensor_bytes = 0;  ///< of all of them, each at the highest peak of the predicted MemoryLedgers, without
  int64_t mapped_bytes = 0;  ///< weights that the ranks share: used where files hold them, or made once
  int64_t free_bytes = 0;    ///< of the machine, or of its control group, as the run began; 0: not known
  int64_t total_bytes = 0;   ///< of the same
};

/// Model, adapter, optimiser and rows are ready.
struct Loaded {
  double seconds = 0;  ///< from main() to now
  std::string model_type;
  std::string weights;  ///< file | random; of a language model with the bits that they are quantised to
  int64_t parameters = 0;
  int64_t trainable_parameters = 0;
  int64_t rows = 0;                 ///< rows in the data set
  int64_t planned_steps = 0;        ///< what max_steps or the epochs ask for
  int64_t layers = 0;               ///< that keep activations for backward
  int64_t checkpointed_layers = 0;  ///< of these, run again in backward instead
  int64_t step_bytes = 0;           ///< tensor bytes that the largest micro-batch is expected to add
  int64_t available_bytes = 0;      ///< memory that automatic checkpointing chose for; 0: it did not choose
  int64_t peak_tensor_bytes = 0;
};

/// One optimiser step: all micro-batches of its accumulation window.
struct Step {
  int64_t step = 0;      ///< from 1
  double loss = 0;       ///< mean over the window's supervised tokens
  double grad_norm = 0;  ///< before clipping
  double learning_rate = 0;
  double loss_scale = 1;  ///< that the loss was multiplied by for backward; 1: no scaling
  bool skipped = false;   ///< the scaled gradients overflowed: nothing was updated, and grad_norm is not finite
  double seconds = 0;     ///< wall time of the whole step
  double forward_seconds = 0;
  double backward_seconds = 0;
  double optimizer_seconds = 0;
  int64_t samples = 0;
  int64_t real_tokens = 0;         ///< tokens fed
  int64_t padded_tokens = 0;       ///< padding a right-padding collator would have added
  int64_t supervised_tokens = 0;   ///< tokens that bear loss
  int64_t forward_only = 0;        ///< micro-batches without loss: of these no backward pass was made
  int64_t forward_peak_bytes = 0;  ///< peak of live tensor memory within the phase
  int64_t backward_peak_bytes = 0;
  int64_t optimizer_peak_bytes = 0;
};

/// The loss of a language model on rows that are held out, between two steps.
struct HeldOutLoss {
  int64_t step = 0;       ///< after so many optimiser steps
  double loss = 0;        ///< mean cross-entropy of a supervised token
  double perplexity = 0;  ///< its exponential
  int64_t rows = 0;
  int64_t tokens = 0;  ///< of these, supervised
  double seconds = 0;
};

/// A checkpoint to go on from stands whole.
struct Checkpointed {
  int64_t step = 0;  ///< that it is of
  std::string uri;
  int64_t bytes = 0;
  double stall_seconds = 0;   ///< that the training waited for it
  double local_seconds = 0;   ///< from its begin until it was whole on a disk, written through; 0: it is on none
  double remote_seconds = 0;  ///< likewise in a bucket, or in output_dir where local_dir came first
};

/// The run goes on from a checkpoint; before its first step.
struct Resumed {
  int64_t step = 0;  ///< that the checkpoint is of
  std::string uri;
  double seconds = 0;  ///< of looking for it and reading it
};

struct Saved {
  std::string path;
  double seconds = 0;  ///< that the first rank spent on it
};

/// A token of a sample of text.
struct Generated {
  std::string when;  ///< before | after the training; empty: there is none
  int64_t id = 0;
};

/// Why the worker stopped.
enum class EndKind {
  kDone,         ///< the plan was carried out
  kOutOfMemory,  ///< device memory or the budget is exhausted
  kInvalid,      ///< the plan or one of its files is wrong (the user's mistake)
  kDiverged,     ///< a loss or its gradients were not finite: the same plan would diverge again
  kError,        ///< an exception
};

struct Ended {
  EndKind kind = EndKind::kDone;
  std::string reason;        ///< one line; empty when done
  std::string stopped_by;    ///< max_steps | epochs | stop_after_seconds | auto_stop | early_stopping; of a text eos
                             ///< | max_new_tokens
  double train_runtime = 0;  ///< seconds inside the training loop, warm-up of auto-stop included
  int64_t warmup_steps = 0;  ///< the first of the steps, which do not count; of auto-stop and the fair protocol
  double warmup_seconds = 0;
  int64_t peak_tensor_bytes = 0;
  int64_t peak_reserved_bytes = 0;  ///< of a GPU: taken of it at most, what was kept for reuse included; 0: not known
};

using Event = std::variant<Started, MemoryNeed, Loaded, Step, Saved, Ended, Topology, RankStep, DataUse, Evaluation,
                           HeldOutLoss, MemoryLedger, CollectiveTotals, Checkpointed, Resumed, CheckpointTransfer,
                           CheckpointModel, ConnectorStep, Generated>;

/// One line of JSON, without the newline.
std::string ToJsonLine(const Event& event);
Result<Event> EventFromJsonLine(std::string_view line);

std::string_view ToString(EndKind kind);

}  // namespace assay::job
