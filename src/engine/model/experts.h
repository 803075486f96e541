// A mixture of experts: each token goes through the MLPs of the few that a router chooses for it (Shazeer et al. 2017,
// "Outrageously Large Neural Networks").
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "architecture/model_config.h"
#include "engine/kernels/grouped_linear.h"
#include "engine/model/expert_stack.h"
#include "engine/model/recomputable.h"
#include "engine/model/router_balance.h"
#include "engine/model/routing.h"

namespace assay::engine {

/// SwiGLU experts with their router. Those of one tensor [E, 2I, H] may be here in part, consecutive ones; those with
/// weights of their own may have part of their features.
class Experts {
 public:
  /// Without parameters: each belongs at its place. `path` is "model.layers.0.block_sparse_moe".
  Experts(const architecture::ModelConfig& config, const std::string& path);
  Experts(const Experts&) = delete;  // stacks() hands out pointers into it

  /// Of each parameter, by its name in the checkpoint; valid as long as this is.
  std::vector<std::pair<std::string, at::Tensor*>> places();

  /// Those of gate and up, and of what follows.
  std::vector<ExpertStack*> stacks() { return {&gate_up_stack_, &down_stack_}; }

  /// The sum of what a token's experts give, each times what the router gives it. Where not all are here, `part` says
  /// which of the equal parts these are, and the sum is over them. `output` as in linear() of the kernels; what
  /// backward runs again (kUnset) `balance` has counted before. Null: the router has no loss of its own.
  at::Tensor forward(const Recomputable& x_TH, int64_t part, Output output = Output::kComputed,
                     const std::shared_ptr<RouterBalance>& balance = {}) const;

  /// Features that the experts of a token make of it; where not all are here, at most.
  int64_t inner_width() const;
  int64_t output_width() const;
  /// Outputs and inputs of an expert's largest matrix.
  std::pair<int64_t, int64_t> largest_matrix() const;

 private:
  int64_t own() const;
  /// `attaches`: of ranks that all have these tokens, one gives their gradient of the balance.
  Routing routing_of(const Recomputable& x_TH, int64_t first, bool attaches, Output output,
                     const std::shared_ptr<RouterBalance>& balance) const;
  at::Tensor weighted(const Recomputable& x_SH, const Routing& routing, Output output) const;

  std::string path_;
  int64_t experts_;
  int64_t per_token_;
  at::Tensor router_EH_;
  ExpertWeights gate_up_;    ///< one tensor; or empty
  ExpertWeights gate_, up_;  ///< a matrix for each expert; or empty
  ExpertWeights down_;
  ExpertStack gate_up_stack_, down_stack_;
};

}  // namespace assay::engine
