#include "engine/train/model_parts.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/accumulate.h>
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

/// Brings parts to the first rank in pieces, after each of which all ranks meet: who waits while others send waits for
/// one piece at a time, however large the model.
class PartCarrier {
 public:
  PartCarrier(Communicator& ranks, const PartLists& lists, SplitRules rules)
      : ranks_(ranks), lists_(lists), rules_(rules), device_(ranks.allocate(0, at::kFloat).device()) {}

  /// What all ranks bring of `name`, by rank, on the first rank; nothing on the others. `own` is undefined where this
  /// rank has nothing of it.
  std::vector<at::Tensor> bring(const std::string& name, const at::Tensor& own) {
    std::vector<at::Tensor> parts;
    if (is_first() && own.defined()) {
      parts.push_back(own);
    }
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      const auto& of_rank = lists_.of_rank[static_cast<size_t>(rank)];
      if (const auto part = of_rank.find(name); part != of_rank.end() && lists_.brings(rank, name, rules_)) {
        const at::Tensor whole = carry(rank, name, part->second, own);
        if (is_first()) {
          parts.push_back(whole);
        }
      }
    }
    return parts;
  }

 private:
  bool is_first() const { return ranks_.rank() == 0; }

  /// From `rank` to the first one, which gets it on the CPU.
  at::Tensor carry(int rank, const std::string& name, const Part& part, const at::Tensor& own) {
    at::Tensor whole;
    if (is_first()) {
      whole = at::empty(part.shape, at::TensorOptions(part.dtype));
    } else if (ranks_.rank() == rank) {
      whole = own.contiguous();
    }
    const auto elements_of_piece = kPartPieceBytes / static_cast<int64_t>(c10::elementSize(part.dtype));
    const int64_t elements = c10::multiply_integers(part.shape);
    for (int64_t begin = 0; begin < elements; begin += elements_of_piece) {
      const int64_t length = std::min(elements_of_piece, elements - begin);
      if (whole.defined()) {
        move(rank, name, whole.view(-1).narrow(0, begin, length));
      }
      ranks_.barrier(name);
    }
    return whole;
  }

  void move(int rank, const std::string& name, const at::Tensor& piece) {
    if (!is_first()) {
      ranks_.send(piece.to(device_), 0, name)->wait();
      return;
    }
    const at::Tensor received =
        piece.device() == device_ ? piece : at::empty_like(piece, piece.options().device(device_));
    ranks_.recv(received, rank, name)->wait();
    if (!received.is_same(piece)) {
      piece.copy_(received);
    }
  }

  Communicator& ranks_;
  const PartLists& lists_;
  SplitRules rules_;
  at::Device device_;
};

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
  const PartLists lists(gather_text(*model_ranks, list_parts(own), "parts of the model"));
  std::map<std::string, at::Tensor> own_parts(std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  own.clear();
  PartCarrier carrier(*model_ranks, lists, rules);
  std::vector<NamedTensor> whole;
  // Parameter by parameter, so that no more than one is there in parts.
  for (const std::string& name : lists.names) {
    const auto part = own_parts.extract(name);
    const std::vector<at::Tensor> parts = carrier.bring(name, part ? part.mapped() : at::Tensor());
    if (model_ranks->rank() == 0) {
      whole.emplace_back(name, join_parts(rules, name, parts));
    }
  }
  return whole;
}

std::vector<NamedTensor> gather_weights(ShardEngine& engine, const StrategyGroups& groups, SplitRules rules,
                                        WeightKinds kinds, std::optional<at::ScalarType> dtype) {
  const bool is_first_model = groups.data_rank() == 0;
  std::vector<NamedTensor> own = full_weights(engine, is_first_model, kinds, dtype);
  return is_first_model ? gather_parts(std::move(own), rules, groups.groups().model) : std::move(own);
}

}  // namespace assay::engine
