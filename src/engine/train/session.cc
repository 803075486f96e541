#include "engine/train/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "engine/kernels/memory.h"
#include "engine/model/load.h"
#include "engine/model/status_error.h"
#include "engine/train/device.h"

namespace assay::engine {
namespace {

data::TokenFile open_rows(const std::string& path) {
  data::TokenFile rows = value_or_throw(data::TokenFile::Open(path));
  if (rows.rows() == 0) {
    throw StatusError(Status::InvalidArgument(fmt::format("the data set {} has no rows (add some)", path)));
  }
  return rows;
}

void check_vocabulary(const data::TokenFile& rows, const CausalLM& model) {
  if (rows.vocab_size() > model.vocab_size()) {
    throw StatusError(Status::InvalidArgument(fmt::format(
        "the rows were tokenised with a vocabulary of {} entries, but the model's has only {} (use the model's own "
        "tokeniser)",
        rows.vocab_size(), model.vocab_size())));
  }
}

/// Mapped weights are memory of the run that the allocator does not see: the budget for the rest shrinks by them.
void make_room_for_mapped_weights(int64_t budget_bytes, c10::Device device) {
  if (budget_bytes == 0 || !device.is_cpu()) {
    return;
  }
  const int64_t mapped_bytes = mapped_weight_bytes();
  if (mapped_bytes >= budget_bytes) {
    throw StatusError(Status::OutOfMemory(fmt::format("the weights need {}, the memory budget is {}",
                                                      FormatBytes(static_cast<double>(mapped_bytes)),
                                                      FormatBytes(static_cast<double>(budget_bytes)))));
  }
  SetMemoryBudget(budget_bytes - mapped_bytes);
}

OrderOptions order_options(const job::TunePlan& plan, int64_t rows) {
  return {.rows = rows,
          .batch_size = plan.batch_size,
          .accumulation_steps = plan.gradient_accumulation_steps,
          .shuffle = plan.shuffle,
          .seed = plan.seed};
}

/// Packed copies take twice the memory of the frozen weights and a second or so of the first step. With larger models
/// that is too much for what it gains, since their products are large; with a budget, memory counts more than time.
/// Returns the bytes that they will take.
int64_t pack_weights(const job::TunePlan& plan, CausalLM& model) {
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  const int64_t bytes = model.packed_bytes();
  if (plan.memory_budget_bytes > 0 || bytes > kMostBytes) {
    return 0;
  }
  model.pack_frozen_weights();
  return bytes;
}

std::optional<LossScaler> make_scaler(const job::TunePlan& plan) {
  const double scale = value_or_throw(job::LossScale(plan.loss_scale));
  if (scale == job::kAutoLossScale) {
    return plan.dtype == "float16" ? std::make_optional<LossScaler>(LossScaleOptions{}) : std::nullopt;
  }
  return scale > 0 ? std::make_optional<LossScaler>(LossScaleOptions{.initial = scale, .growth = 1, .backoff = 1})
                   : std::nullopt;
}

}  // namespace

Session load_session(const job::TunePlan& plan, c10::Device device) {
  SetMemoryBudget(plan.memory_budget_bytes, device);
  data::TokenFile rows = open_rows(plan.tokens_file);
  RowOrder order(order_options(plan, rows.rows()));
  const int64_t planned_steps = plan.max_steps >= 0 ? plan.max_steps : plan.num_train_epochs * order.steps_per_epoch();
  const Schedule schedule =
      value_or_throw(Schedule::create(plan.lr_scheduler_type, plan.learning_rate, plan.warmup_ratio, planned_steps));

  bool random_weights = false;
  auto model = load_model(plan.model_dir, parse_dtype(plan.dtype), device, plan.seed, random_weights);
  make_room_for_mapped_weights(plan.memory_budget_bytes, device);
  check_vocabulary(rows, *model);
  std::optional<LoraConfig> lora;
  if (plan.method == "lora") {
    lora = apply_lora(*model, plan.lora, plan.seed);
  }
  const std::vector<NamedTensor> trainable = trainable_parameters(*model);
  std::vector<at::Tensor> tensors;
  std::transform(trainable.begin(), trainable.end(), std::back_inserter(tensors),
                 [](const NamedTensor& parameter) { return parameter.second; });
  auto optimizer = make_optimizer(plan.optimizer, trainable, {.weight_decay = plan.weight_decay});
  const int64_t packed_bytes = pack_weights(plan, *model);
  const CheckpointingChoice checkpointing =
      set_checkpointing(plan, rows, device, optimizer->untouched_bytes() + packed_bytes, *model);
  return {.model = std::move(model),
          .random_weights = random_weights,
          .lora = std::move(lora),
          .trainable = std::move(tensors),
          .optimizer = std::move(optimizer),
          .rows = std::move(rows),
          .order = std::move(order),
          .planned_steps = planned_steps,
          .scaler = make_scaler(plan),
          .checkpointing = checkpointing,
          .schedule = schedule};
}

}  // namespace assay::engine
