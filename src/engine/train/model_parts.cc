#include "engine/train/model_parts.h"

#include <ATen/ops/empty.h>

#include <map>
#include <string>
#include <utility>

#include "engine/model/status_error.h"
#include "engine/shard/pipeline_schedule.h"
#include "engine/shard/tensor_parallel.h"

namespace assay::engine {
namespace {

VitPart part_at(const PartPlace& place, const VitConfig& config) {
  const StageLayers layers = layers_of_stage(config.num_layers, place.stage, place.stages);
  return {layers.first, layers.count};
}

/// Names and shapes of a part's parameters, without values.
std::vector<NamedTensor> shapes_of_part(const PartPlace& place, const VitConfig& config) {
  const ParameterSource shapes = [&](const ParameterSpec& spec) {
    const at::Tensor whole = at::empty(spec.shape, at::TensorOptions(at::kFloat).device(c10::kMeta));
    return cut_for_rank(spec.name, whole, place.tensor_rank, place.tensor_ranks);
  };
  return Vit(config, shapes, at::kFloat, part_at(place, config)).parameters();
}

/// What the first tensor rank has too is not sent.
bool is_sent(const std::string& name, const PartPlace& place) {
  return place.tensor_rank == 0 || tensor_split_of(name) != TensorSplit::kReplicated;
}

/// The parts of each parameter, in order of tensor rank.
using PartsByName = std::map<std::string, std::vector<at::Tensor>>;

void receive_part(Communicator& ranks, int from, const PartPlace& place, const VitConfig& config, at::Device device,
                  PartsByName& parts) {
  for (const auto& [name, shape] : shapes_of_part(place, config)) {
    if (is_sent(name, place)) {
      const at::Tensor flat = at::empty({shape.numel()}, at::TensorOptions(at::kFloat).device(device));
      ranks.recv(flat, from, name)->wait();
      parts[name].push_back(flat.view(shape.sizes()).cpu());
    }
  }
}

void send_part(Communicator& ranks, const std::vector<NamedTensor>& own, const PartPlace& place, at::Device device) {
  for (const auto& [name, tensor] : own) {
    if (is_sent(name, place)) {
      const at::Tensor flat = tensor.to(device, at::kFloat).contiguous().view(-1);
      ranks.send(flat, 0, name)->wait();
    }
  }
}

}  // namespace

void check_divides(const job::VitPlan& plan, const VitConfig& config) {
  throw_if_error(job::CheckModelDivides(plan, {.attention_heads = config.num_heads,
                                               .intermediate_features = config.intermediate_size,
                                               .layers = config.num_layers}));
}

PartPlace place_of(const job::VitPlan& plan, int64_t index) {
  return {.stage = index / plan.knobs.tp_size,
          .stages = plan.knobs.pp_size,
          .tensor_rank = index % plan.knobs.tp_size,
          .tensor_ranks = plan.knobs.tp_size};
}

void take_part(const PartPlace& place, const VitConfig& config, ImageClassifierOptions& options) {
  options.part = part_at(place, config);
  if (place.tensor_ranks > 1) {
    options.cut = [place](const ParameterSpec& spec, const at::Tensor& whole) {
      return cut_for_rank(spec.name, whole, place.tensor_rank, place.tensor_ranks);
    };
  }
}

int64_t count_parameters(const VitConfig& config) {
  int64_t count = 0;
  for (const auto& [name, parameter] : shapes_of_part({}, config)) {
    count += parameter.numel();
  }
  return count;
}

std::vector<NamedTensor> gather_parts(std::vector<NamedTensor> own, const job::VitPlan& plan, const VitConfig& config,
                                      Communicator* model_ranks) {
  if (model_ranks == nullptr) {
    return own;
  }
  const at::Device device = model_ranks->allocate(0, at::kFloat).device();
  if (model_ranks->rank() > 0) {
    send_part(*model_ranks, own, place_of(plan, model_ranks->rank()), device);
    return {};
  }
  PartsByName parts;
  for (const auto& [name, tensor] : own) {
    parts[name].push_back(tensor);
  }
  for (int rank = 1; rank < model_ranks->size(); ++rank) {
    receive_part(*model_ranks, rank, place_of(plan, rank), config, device, parts);
  }
  std::vector<NamedTensor> whole;
  for (const auto& [name, shape] : shapes_of_part({}, config)) {
    whole.emplace_back(name, join_parts(name, parts.at(name)));
  }
  return whole;
}

}  // namespace assay::engine
