#include "engine/train/model_parts.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "engine/comm/gather_text.h"
#include "engine/shard/pipeline_schedule.h"

namespace assay::engine {
namespace {

/// A parameter as another rank has a part of it.
struct Part {
  at::ScalarType dtype;
  std::vector<int64_t> shape;
};

/// "name dtype size size", a line for each.
std::string list_parts(const std::vector<NamedTensor>& tensors) {
  std::string list;
  for (const auto& [name, tensor] : tensors) {
    list += fmt::format("{} {} {}\n", name, static_cast<int>(tensor.scalar_type()), fmt::join(tensor.sizes(), " "));
  }
  return list;
}

/// The parts of all ranks as one hears of them.
struct PartLists {
  std::vector<std::string> names;  ///< each once, those of any rank in its order
  std::vector<std::map<std::string, Part>> of_rank;

  /// Whether `rank` brings what it has of `name`: not where it has all of it as a rank before it has.
  bool brings(int rank, const std::string& name, SplitRules rules) const {
    const TensorSplit split = split_of(rules, name);
    const bool is_whole = split == TensorSplit::kReplicated || split == TensorSplit::kShared;
    const auto lists_it = [&](const std::map<std::string, Part>& parts) { return parts.contains(name); };
    return !is_whole || std::ranges::none_of(of_rank.begin(), of_rank.begin() + rank, lists_it);
  }

  explicit PartLists(const std::vector<std::string>& lists) {
    for (const std::string& list : lists) {
      std::istringstream lines(list);
      std::map<std::string, Part>& parts = of_rank.emplace_back();
      for (std::string line; std::getline(lines, line);) {
        add(line, parts);
      }
    }
  }

 private:
  void add(const std::string& line, std::map<std::string, Part>& parts) {
    std::istringstream fields(line);
    std::string name;
    int dtype = 0;
    fields >> name >> dtype;
    Part& part = parts[name];
    part.dtype = static_cast<at::ScalarType>(dtype);
    for (int64_t size = 0; fields >> size;) {
      part.shape.push_back(size);
    }
    if (known_.insert(name).second) {
      names.push_back(name);
    }
  }

  std::set<std::string> known_;
};

at::Tensor receive(Communicator& ranks, int from, const std::string& name, const Part& part, at::Device device) {
  const at::Tensor received = at::empty(part.shape, at::TensorOptions(part.dtype).device(device));
  ranks.recv(received.view(-1), from, name)->wait();
  return received.cpu();
}

/// On the first rank: parameter by parameter, so that no more than one is there in parts.
std::vector<NamedTensor> join_all(std::vector<NamedTensor> own, const PartLists& lists, SplitRules rules,
                                  Communicator& ranks, at::Device device) {
  std::map<std::string, at::Tensor> own_parts(std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  own.clear();
  std::vector<NamedTensor> whole;
  for (const std::string& name : lists.names) {
    std::vector<at::Tensor> parts;
    if (auto first = own_parts.extract(name)) {
      parts.push_back(std::move(first.mapped()));
    }
    for (int rank = 1; rank < ranks.size(); ++rank) {
      const auto& of_rank = lists.of_rank[static_cast<size_t>(rank)];
      if (const auto part = of_rank.find(name); part != of_rank.end() && lists.brings(rank, name, rules)) {
        parts.push_back(receive(ranks, rank, name, part->second, device));
      }
    }
    whole.emplace_back(name, join_parts(rules, name, parts));
  }
  return whole;
}

}  // namespace

HeldPart held_part(const job::ParallelPlan& plan, const StrategyGroups& groups, SplitRules rules, bool begins_model) {
  return {.rules = rules, .tensor = place_of(plan, groups.model_rank()).tensor, .begins_model = begins_model};
}

ModelPart PartPlace::part_of(int64_t layers) const {
  const StageLayers of_stage = layers_of_stage(layers, stage, stages);
  return {of_stage.first, of_stage.count};
}

PartPlace place_of(const job::ParallelPlan& plan, int64_t index) {
  return {.stage = index / plan.knobs.tp_size,
          .stages = plan.knobs.pp_size,
          .tensor = {.rank = index % plan.knobs.tp_size, .ranks = plan.knobs.tp_size}};
}

std::vector<NamedTensor> gather_parts(std::vector<NamedTensor> own, SplitRules rules, Communicator* model_ranks) {
  if (model_ranks == nullptr) {
    return own;
  }
  const at::Device device = model_ranks->allocate(0, at::kFloat).device();
  const PartLists lists(gather_text(*model_ranks, list_parts(own), "parts of the model"));
  if (model_ranks->rank() == 0) {
    return join_all(std::move(own), lists, rules, *model_ranks, device);
  }
  for (auto& [name, tensor] : own) {
    if (lists.brings(model_ranks->rank(), name, rules)) {
      model_ranks->send(tensor.to(device).contiguous().view(-1), 0, name)->wait();
    }
    tensor.reset();
  }
  return {};
}

}  // namespace assay::engine
