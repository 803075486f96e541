#include "engine/checkpoint/held_state.h"

#include <map>
#include <utility>

#include "engine/optim/adamw.h"

namespace assay::engine {
namespace {

/// The box of a whole parameter that a tensor rank has, of which `part` is the shape.
checkpoint::Box box_of_part(const HeldPart& place, const std::vector<int64_t>& part, const checkpoint::Sizes& whole) {
  checkpoint::Box box = checkpoint::WholeOf(part);
  for (size_t dim = 0; dim < part.size(); ++dim) {
    box.offsets[dim] = part[dim] == whole[dim] ? 0 : place.tensor.rank * part[dim];
  }
  return box;
}

/// The first rank of several that hold the same of the model, and may have cut it otherwise, writes it.
bool is_written_here(const HeldPart& place, const std::string& name, bool at_both_ends) {
  const TensorSplit split = split_of(place.rules, name);
  const bool is_cut = split == TensorSplit::kRows || split == TensorSplit::kColumns;
  return (is_cut || place.tensor.rank == 0) && (place.begins_model || !at_both_ends);
}

void add_group(const FlatGroup& group, ShardedAdamw::GroupState& state, const HeldPart& place,
               std::vector<HeldState>& held) {
  const FlatLayout& layout = group.weights.layout();
  // Where all ranks have the whole there is one shard.
  const int64_t shard = layout.ranks() == 1 ? 0 : group.weights.ranks().shard_rank();
  const at::Tensor weight = group.weights.resting_shard();
  for (const ShardSlice& slice : layout.slices(shard)) {
    const FlatParameter& parameter = layout.parameters()[slice.parameter];
    const auto stretch = [&](const at::Tensor& flat) { return flat.narrow(0, slice.in_shard, slice.elements); };
    HeldState& entry = held.emplace_back();
    entry.name = parameter.name;
    entry.shape = whole_shape(place.rules, parameter.name, parameter.shape, place.tensor.ranks);
    entry.part = box_of_part(place, parameter.shape, entry.shape);
    entry.begin = slice.in_parameter;
    entry.weight = stretch(weight);
    entry.moments = {{kFirstMoment, stretch(state.first_moment)}, {kSecondMoment, stretch(state.second_moment)}};
    entry.steps = &state.steps[slice.parameter];
    entry.is_written_here = is_written_here(place, parameter.name, group.at_both_ends);
  }
}

}  // namespace

std::vector<checkpoint::Box> HeldState::boxes() const {
  std::vector<checkpoint::Box> boxes = checkpoint::BoxesOfFlatRange(part.sizes, begin, weight.numel());
  for (checkpoint::Box& box : boxes) {
    for (size_t dim = 0; dim < box.offsets.size(); ++dim) {
      box.offsets[dim] += part.offsets[dim];
    }
  }
  return boxes;
}

std::vector<HeldState> held_by(Optimizer& optimizer) {
  std::vector<HeldState> held;
  for (const ParameterState& state : optimizer.states()) {
    HeldState& entry = held.emplace_back();
    entry.name = state.name;
    entry.shape = state.weight.sizes().vec();
    entry.part = checkpoint::WholeOf(entry.shape);
    entry.weight = state.weight.view(-1);
    for (const Moment& moment : state.moments) {
      entry.moments.push_back({moment.name, moment.values.view(-1)});
    }
    entry.steps = state.steps;
  }
  return held;
}

std::vector<HeldState> held_by(ShardEngine& engine, const HeldPart& part) {
  engine.last_step();
  ShardedAdamw& optimizer = engine.optimizer();
  std::vector<HeldState> held;
  for (size_t group = 0; group < optimizer.groups().size(); ++group) {
    add_group(*optimizer.groups()[group], optimizer.state(group), part, held);
  }
  return held;
}

}  // namespace assay::engine
