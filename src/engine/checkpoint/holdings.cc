#include "engine/checkpoint/holdings.h"

#include <array>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/json.h"
#include "engine/model/element_types.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using checkpoint::DataRange;
using checkpoint::HeldTensor;
using checkpoint::PathStep;
using nlohmann::json;

constexpr char kModel[] = "model";
constexpr char kOptimizer[] = "optimizer";
constexpr char kState[] = "state";

bool has_moments(const HeldState& state) {
  return state.steps != nullptr && *state.steps > 0;
}

/// What is held of one parameter, in the order of its holdings: `visit(name, path, tensor)`; the count of updates,
/// which is no stretch, comes last and with an undefined tensor.
template <typename Visitor>
void visit_states(const HeldState& state, const Visitor& visit) {
  visit(model_name(state.name), std::vector<PathStep>{kModel, state.name}, state.weight);
  if (!has_moments(state)) {
    return;
  }
  const auto path_to = [&](std::string_view what) {
    return std::vector<PathStep>{kOptimizer, kState, state.name, std::string(what)};
  };
  for (const Moment& moment : state.moments) {
    visit(moment_name(state.name, moment.name), path_to(moment.name), moment.values);
  }
  visit(moment_name(state.name, kSteps), path_to(kSteps), at::Tensor());
}

/// The bytes of a 1-D tensor, which lives as long as they are used.
std::shared_ptr<const checkpoint::DataSource> source_of(const at::Tensor& tensor) {
  auto host = std::make_shared<const at::Tensor>(tensor.detach().cpu().contiguous());
  const std::span bytes(static_cast<const std::byte*>(host->const_data_ptr()), host->nbytes());
  return std::make_shared<const checkpoint::MemorySource>(bytes, host);
}

/// As torch.optim has it: a float32.
std::string steps_text(int64_t steps) {
  const auto number = static_cast<float>(steps);
  std::string text(sizeof(number), '\0');
  std::memcpy(text.data(), &number, sizeof(number));
  return text;
}

json to_json(const std::vector<PathStep>& path) {
  json steps = json::array();
  for (const PathStep& step : path) {
    std::visit([&](const auto& key) { steps.push_back(key); }, step);
  }
  return steps;
}

std::vector<PathStep> path_from_json(const json& steps) {
  std::vector<PathStep> path;
  for (const json& step : steps) {
    path.push_back(step.is_string() ? PathStep(step.get<std::string>()) : PathStep(step.get<int64_t>()));
  }
  return path;
}

}  // namespace

std::string model_name(const std::string& parameter) {
  return checkpoint::JoinPath({kModel, parameter});
}

std::string moment_name(const std::string& parameter, std::string_view moment) {
  return checkpoint::JoinPath({kOptimizer, kState, parameter, std::string(moment)});
}

checkpoint::RankHoldings holdings_of(const std::vector<HeldState>& held) {
  checkpoint::RankHoldings holdings;
  for (const HeldState& state : held) {
    if (!state.is_written_here) {
      continue;
    }
    visit_states(state, [&](std::string name, std::vector<PathStep> path, const at::Tensor& tensor) {
      if (!tensor.defined()) {
        holdings.tensors.push_back({.name = std::move(name), .path = std::move(path)});
        return;
      }
      for (checkpoint::Box& box : state.boxes()) {
        holdings.tensors.push_back({.name = name,
                                    .path = path,
                                    .dtype = element_type_of(tensor.scalar_type()),
                                    .shape = state.shape,
                                    .box = std::move(box)});
      }
    });
  }
  return holdings;
}

std::set<const at::Tensor*> tensors_of(const std::vector<HeldState>& held,
                                       const std::vector<checkpoint::PlannedFile>& files) {
  std::vector<const at::Tensor*> of_holdings;
  for (const HeldState& state : held) {
    if (state.is_written_here) {
      visit_states(state, [&](const std::string&, const std::vector<PathStep>&, const at::Tensor& tensor) {
        of_holdings.insert(of_holdings.end(), tensor.defined() ? state.boxes().size() : 1, &tensor);
      });
    }
  }
  std::set<const at::Tensor*> tensors;
  for (const checkpoint::PlannedFile& file : files) {
    for (const checkpoint::PlannedItem& item : file.items) {
      if (!item.is_value) {
        tensors.insert(of_holdings[item.held]);
      }
    }
  }
  return tensors;
}

checkpoint::RankContents contents_of(const std::vector<HeldState>& held,
                                     const std::vector<checkpoint::PlannedFile>& files) {
  const std::set<const at::Tensor*> wanted = tensors_of(held, files);
  checkpoint::RankContents contents;
  for (const HeldState& state : held) {
    if (!state.is_written_here) {
      continue;
    }
    visit_states(state, [&](const std::string&, const std::vector<PathStep>&, const at::Tensor& tensor) {
      if (!tensor.defined()) {
        contents.tensors.push_back({checkpoint::SourceOfText(steps_text(*state.steps)), 0});
        return;
      }
      const auto source = wanted.contains(&tensor) ? source_of(tensor) : nullptr;
      int64_t offset = 0;
      for (const checkpoint::Box& box : state.boxes()) {
        contents.tensors.push_back({source, offset});
        offset += checkpoint::Count(box.sizes) * static_cast<int64_t>(tensor.element_size());
      }
    });
  }
  return contents;
}

std::vector<checkpoint::FileLayout> contents_of(const std::vector<checkpoint::Leaf>& leaves) {
  std::vector<checkpoint::FileLayout> layouts;
  for (const checkpoint::Leaf& leaf : leaves) {
    layouts.push_back(value_or_throw(checkpoint::LayOutValue(leaf.value)));
  }
  return layouts;
}

std::vector<checkpoint::HeldValue> held_values(const std::vector<checkpoint::Leaf>& leaves) {
  const std::vector<checkpoint::FileLayout> layouts = contents_of(leaves);
  std::vector<checkpoint::HeldValue> values;
  for (size_t i = 0; i < leaves.size(); ++i) {
    values.push_back({leaves[i].name, leaves[i].path, layouts[i].bytes()});
  }
  return values;
}

std::string to_text(const checkpoint::RankHoldings& holdings) {
  json tensors = json::array();
  for (const HeldTensor& held : holdings.tensors) {
    tensors.push_back({held.name, to_json(held.path), checkpoint::InfoOf(held.dtype).name, held.shape, held.box.offsets,
                       held.box.sizes});
  }
  json values = json::array();
  for (const checkpoint::HeldValue& held : holdings.values) {
    values.push_back({held.name, to_json(held.path), held.bytes});
  }
  return DumpJson({{"tensors", std::move(tensors)}, {"values", std::move(values)}});
}

checkpoint::RankHoldings holdings_from_text(const std::string& text) {
  const json document = json::parse(text);
  checkpoint::RankHoldings holdings;
  for (const json& held : document.at("tensors")) {
    holdings.tensors.push_back({.name = held[0],
                                .path = path_from_json(held[1]),
                                .dtype = checkpoint::FindDType(held[2].get<std::string>())->dtype,
                                .shape = held[3],
                                .box = {held[4], held[5]}});
  }
  for (const json& held : document.at("values")) {
    holdings.values.push_back({held[0], path_from_json(held[1]), held[2]});
  }
  return holdings;
}

}  // namespace assay::engine
