// The parameters of a model folder, one by one: stored ones out of its weights, the others drawn.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/parameter_source.h"
#include "engine/model/tensor_split.h"
#include "engine/model/weights.h"

namespace assay::engine {

/// What a rank has of parameters that were made before the model is built, by name; undefined: nothing. The ranks of a
/// machine may share them.
using MadeParameters = std::map<std::string, at::Tensor, std::less<>>;

struct ParameterOptions {
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  double stddev = 0;  ///< of drawn ones
  uint64_t seed = 0;
  SplitRules rules = {};  ///< of the model
  TensorPlace place = {};
};

class ParameterMaker {
 public:
  using IsStored = std::function<bool(const ParameterSpec& spec)>;

  /// Of a model that has `specs`. Those that are not stored are drawn, and without weights all.
  ParameterMaker(
      std::vector<ParameterSpec> specs, std::optional<Weights> weights, const ParameterOptions& options,
      IsStored is_stored = [](const ParameterSpec&) { return true; });

  const ParameterOptions& options() const { return options_; }
  /// Null: the folder has none.
  Weights* weights() { return weights_ ? &*weights_ : nullptr; }

  /// Those of which no rank has a stretch of the mapped file itself, in the order of the checkpoint: they are
  /// converted, copied, drawn, or cut into columns.
  std::vector<ParameterSpec> not_in_place() const;

  /// A whole parameter. Throws StatusError as Weights::take() does.
  at::Tensor make(const ParameterSpec& spec);

  /// The same into `target`, which is contiguous and on the CPU.
  void make(const ParameterSpec& spec, at::Tensor& target);

  /// For a model that is built while this lives: of each parameter what the rank at options().place has, requiring
  /// grad, out of `made` where it is there.
  ParameterSource source(const MadeParameters& made);

 private:
  bool is_stored(const ParameterSpec& spec) const { return weights_ && is_stored_(spec); }
  bool is_in_place(const ParameterSpec& spec) const;
  at::Tensor part_of_rank(const ParameterSpec& spec, const MadeParameters& made);

  std::vector<ParameterSpec> specs_;
  std::optional<Weights> weights_;
  ParameterOptions options_;
  IsStored is_stored_;
};

}  // namespace assay::engine
