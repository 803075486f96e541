#include "engine/train/model_parts.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "engine/comm/gather_text.h"

namespace assay::engine {
namespace {

/// What the first tensor rank has too is not sent.
bool is_sent(SplitRules rules, const std::string& name, const TensorPlace& place) {
  const TensorSplit split = split_of(rules, name);
  return place.rank == 0 || (split != TensorSplit::kReplicated && split != TensorSplit::kShared);
}

/// "name size size", a line for each.
std::string list_shapes(const std::vector<NamedTensor>& tensors) {
  std::string list;
  for (const auto& [name, tensor] : tensors) {
    list += fmt::format("{} {}\n", name, fmt::join(tensor.sizes(), " "));
  }
  return list;
}

/// Where all parts of a model come together, those of a parameter in order of tensor rank.
class Gathered {
 public:
  void add(const std::string& name, const at::Tensor& part) {
    if (!parts_.contains(name)) {
      names_.push_back(name);
    }
    parts_[name].push_back(part);
  }

  void receive(Communicator& ranks, int from, const std::string& list, at::Device device) {
    std::istringstream lines(list);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::string name;
      std::vector<int64_t> shape;
      fields >> name;
      for (int64_t size = 0; fields >> size;) {
        shape.push_back(size);
      }
      const at::Tensor part = at::empty(shape, at::TensorOptions(at::kFloat).device(device));
      ranks.recv(part.view(-1), from, name)->wait();
      add(name, part.cpu());
    }
  }

  std::vector<NamedTensor> join(SplitRules rules) const {
    std::vector<NamedTensor> whole;
    for (const std::string& name : names_) {
      whole.emplace_back(name, join_parts(rules, name, parts_.at(name)));
    }
    return whole;
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::vector<at::Tensor>> parts_;
};

}  // namespace

PartPlace place_of(const job::ParallelPlan& plan, int64_t index) {
  return {.stage = index / plan.knobs.tp_size,
          .stages = plan.knobs.pp_size,
          .tensor = {.rank = index % plan.knobs.tp_size, .ranks = plan.knobs.tp_size}};
}

std::vector<NamedTensor> gather_parts(std::vector<NamedTensor> own, const job::ParallelPlan& plan, SplitRules rules,
                                      Communicator* model_ranks) {
  if (model_ranks == nullptr) {
    return own;
  }
  const TensorPlace place = place_of(plan, model_ranks->rank()).tensor;
  std::erase_if(own, [&](const NamedTensor& named) { return !is_sent(rules, named.first, place); });
  const at::Device device = model_ranks->allocate(0, at::kFloat).device();
  const std::vector<std::string> lists = gather_text(*model_ranks, list_shapes(own), "parts of the model");
  Gathered gathered;
  for (const auto& [name, tensor] : own) {
    if (model_ranks->rank() == 0) {
      gathered.add(name, tensor.to(at::kFloat));
    } else {
      model_ranks->send(tensor.to(device, at::kFloat).contiguous().view(-1), 0, name)->wait();
    }
  }
  for (int rank = 1; model_ranks->rank() == 0 && rank < model_ranks->size(); ++rank) {
    gathered.receive(*model_ranks, rank, lists[static_cast<size_t>(rank)], device);
  }
  return gathered.join(rules);
}

}  // namespace assay::engine
