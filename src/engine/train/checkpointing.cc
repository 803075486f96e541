#include "engine/train/checkpointing.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "engine/adapter/prompt_tuning.h"
#include "engine/kernels/memory.h"
#include "engine/model/adapters.h"
#include "engine/model/mapped_pages.h"
#include "engine/model/status_error.h"
#include "measure/machine.h"

namespace assay::engine {
namespace {

int64_t free_bytes(c10::Device device) {
  return device.is_cpu()
             ? measure::DescribeMachine().memory_available_bytes
             : static_cast<int64_t>(c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index()).first);
}

/// A budget counts what is allocated, the machine what was written to.
int64_t available_bytes(const job::TunePlan& plan, const StepRoom& room) {
  if (plan.memory_budget_bytes > 0) {
    return std::max<int64_t>(0, plan.memory_budget_bytes - mapped_bytes() - LiveTensorBytes());
  }
  const int64_t usable = usable_bytes(room.device);
  const bool on_host = room.device.is_cpu();
  return std::max<int64_t>(0, usable / (on_host ? room.local_ranks : 1) - (on_host ? room.untouched_bytes : 0));
}

int64_t gradient_bytes(CausalLM& model) {
  int64_t bytes = 0;
  const auto add = [&](const at::Tensor& tensor) {
    bytes += tensor.requires_grad() ? static_cast<int64_t>(tensor.nbytes()) : 0;
  };
  for (const auto& [name, parameter] : model.parameters()) {
    add(parameter);
  }
  for (const Adapter& adapter : adapters_of(model.linears(), model.expert_stacks())) {
    add(adapter.tensors->a_rI);
    add(adapter.tensors->b_Or);
    if (adapter.dora != nullptr) {
      add(adapter.dora->magnitude_O);
    }
  }
  return bytes;
}

std::vector<int64_t> lengths_of(const data::TokenFile& rows, const job::TunePlan& plan) {
  const int64_t prompt = prompt_length(plan);
  std::vector<int64_t> lengths(static_cast<size_t>(rows.rows()));
  for (size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = prompt + static_cast<int64_t>(rows.row(static_cast<int64_t>(i), plan.model_max_length).ids.size());
  }
  return lengths;
}

}  // namespace

int64_t usable_bytes(c10::Device device) {
  constexpr double kUsableShare = 0.9;
  return static_cast<int64_t>(kUsableShare * static_cast<double>(free_bytes(device)));
}

int64_t step_bytes(const StepNeed& need, int64_t checkpointed_layers) {
  const ActivationCost& cost = need.activations;
  const int64_t at_loss = cost.kept_bytes(checkpointed_layers) + std::max(cost.loss_bytes, cost.working_bytes) +
                          (need.accumulates ? need.gradient_bytes : 0);
  const int64_t one_layer = cost.layers() > 0 ? std::ranges::max(cost.layer_bytes) + cost.working_bytes : 0;
  return std::max(at_loss, need.gradient_bytes + one_layer);
}

int64_t fewest_checkpointed_layers(const StepNeed& need, int64_t available_bytes) {
  int64_t count = 0;
  while (count < need.activations.layers() && step_bytes(need, count) > available_bytes) {
    ++count;
  }
  return count;
}

int64_t longest_row(const data::TokenFile& rows, const job::TunePlan& plan) {
  return std::ranges::max(lengths_of(rows, plan));
}

int64_t most_tokens(const data::TokenFile& rows, const job::TunePlan& plan) {
  const auto rows_of_micro_batch = static_cast<size_t>(plan.batch_size / job::MicroBatches(plan));
  std::vector<int64_t> lengths = lengths_of(rows, plan);
  if (plan.packing) {
    const int64_t of_pack = std::max(plan.model_max_length, std::ranges::max(lengths));
    return std::min(static_cast<int64_t>(rows_of_micro_batch) * of_pack,
                    std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
  }
  if (plan.shuffle || plan.number_ranks > 1) {
    std::ranges::sort(lengths, std::greater<>());
    lengths.resize(std::min(lengths.size(), rows_of_micro_batch));
  }
  int64_t most = 0;
  for (size_t begin = 0; begin < lengths.size(); begin += rows_of_micro_batch) {
    const size_t end = std::min(lengths.size(), begin + rows_of_micro_batch);
    most = std::max(most, std::accumulate(lengths.begin() + static_cast<int64_t>(begin),
                                          lengths.begin() + static_cast<int64_t>(end), int64_t{0}));
  }
  return most;
}

int64_t layers_asked_for(const std::string& gradient_checkpointing, int64_t layers) {
  const int64_t wanted = value_or_throw(job::CheckpointedLayers(gradient_checkpointing));
  if (wanted > layers && gradient_checkpointing != "on") {
    throw StatusError(Status::InvalidArgument(
        fmt::format("gradient_checkpointing is {}, but the model has {} layers (say on for all)", wanted, layers)));
  }
  return std::min(layers, wanted);
}

int64_t agree_on_checkpointing(Communicator* ranks, int64_t layers) {
  if (ranks == nullptr || ranks->size() == 1) {
    return layers;
  }
  const at::Tensor most = ranks->allocate(1, at::kDouble);
  most.fill_(layers);
  ranks->all_reduce(most, ReduceOp::kMax, "layers to checkpoint")->wait();
  return static_cast<int64_t>(most.item<double>());
}

CheckpointingChoice set_checkpointing(const job::TunePlan& plan, const data::TokenFile& rows, const StepRoom& room,
                                      CausalLM& model) {
  const ActivationCost of_one = model.activation_cost(most_tokens(rows, plan), longest_row(rows, plan));
  const StepNeed need{.activations = of_one.in_flight(room.in_flight),
                      .gradient_bytes = room.has_gradients ? 0 : gradient_bytes(model),
                      .accumulates = plan.gradient_accumulation_steps > 1};
  // Of a part all layers keep activations, as those of the other parts may.
  CheckpointingChoice choice{.layers = model.is_whole() ? need.activations.layers() : model.config().num_layers};
  choice.checkpointed_layers = layers_asked_for(plan.gradient_checkpointing, choice.layers);
  if (choice.checkpointed_layers == job::kAutoCheckpointing) {
    choice.available_bytes = available_bytes(plan, room);
    const int64_t fewest = fewest_checkpointed_layers(need, choice.available_bytes);
    choice.checkpointed_layers = room.foretold_layers.value_or(fewest == 0 ? 0 : model.first_layer() + fewest);
    choice.checkpointed_layers = agree_on_checkpointing(room.ranks, choice.checkpointed_layers);
  }
  const int64_t here =
      std::clamp<int64_t>(choice.checkpointed_layers - model.first_layer(), 0, need.activations.layers());
  choice.step_bytes = step_bytes(need, here);
  choice.kept_bytes = need.activations.kept_bytes(here);
  model.set_checkpointed_layers(choice.checkpointed_layers);
  return choice;
}

}  // namespace assay::engine
