// Optimisers by the names of the reference trainer (transformers' `optim` argument).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/kernels/gradient_rule.h"
#include "engine/kernels/optimizer_step.h"

namespace assay::engine {

struct OptimizerOptions {
  double weight_decay = 0.0;  ///< applies to the parameters that applies_weight_decay() names
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
};

/// The scalars of the update number `step`, from 1, of AdamW with these options.
AdamwScalars adamw_scalars(const OptimizerOptions& options, double learning_rate, int64_t step);

/// What an optimiser keeps beside the elements of a parameter, under torch.optim's name for it.
struct Moment {
  std::string_view name;  ///< a constant
  at::Tensor values;
};

/// What an optimiser has of one parameter, for checkpoints: tensors to read from or to write into.
struct ParameterState {
  std::string name;
  at::Tensor weight;                 ///< as it is updated: the float32 master where there is one
  std::vector<Moment> moments = {};  ///< without meaning where `steps` is 0
  int64_t* steps = nullptr;          ///< updates so far; null: the optimiser does not count them
};

/// Updates a fixed set of parameters from their gradients. Not safe to use from two threads.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One update of every parameter that has a gradient, treated as `rule` says. Parameters without a gradient keep
  /// their value and their state, as in torch.optim. Does not wait for a device.
  virtual void step(double learning_rate, const GradientRule& rule) = 0;

  /// The rule made the last step() change nothing: it does not count as one. Call it then, before the next.
  virtual void forget_last_step() = 0;

  /// Bytes of states that are allocated but that no step has written to: memory that the system has yet to find.
  virtual int64_t untouched_bytes() const = 0;

  /// Of every parameter, in order. What they point to lives as long as this.
  virtual std::vector<ParameterState> states() = 0;
  /// After weights of states() were written from outside: parameters with a master become it, rounded.
  virtual void publish_masters() = 0;
};

/// An entry of the table of optimisers: a name the reference knows, and whether this version has it.
struct OptimizerEntry {
  using Factory = std::unique_ptr<Optimizer> (*)(std::vector<std::pair<std::string, at::Tensor>>,
                                                 const OptimizerOptions&);
  std::string_view name;
  Factory make;  ///< null: known to the reference, not yet supported here
};
const std::vector<OptimizerEntry>& optimizer_table();

/// Ok for a supported name; else one line that tells a known name from a misspelt one.
Status check_optimizer_name(std::string_view name);

/// The optimiser `name` over `parameters` (name in the model, tensor). States are made now, in the dtype of each
/// parameter: pure bfloat16 training has bfloat16 states, as the reference, but those of `lion_32bit`. All but sgd keep
/// a float32 copy of float16 parameters, which it updates and rounds into them, and float32 states: the squares of
/// float16 gradients are mostly too small for float16. Throws std::invalid_argument with the message of
/// check_optimizer_name() for a name that is not supported.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          std::vector<std::pair<std::string, at::Tensor>> parameters,
                                          const OptimizerOptions& options);

/// Whether weight decay applies to the parameter `name`: not to biases nor to weights of norms, found by name as
/// transformers.Trainer.get_decay_parameter_names does.
bool applies_weight_decay(std::string_view name);

}  // namespace assay::engine
