// Optimisers that keep one number for each of a parameter, and update every element by itself.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/optim/optimizer.h"

namespace assay::engine {

// torch.optim's defaults, which are the reference's.
inline constexpr double kAdagradEps = 1e-10;
inline constexpr double kRmspropAlpha = 0.99;
inline constexpr double kRmspropEps = 1e-8;

/// A stretch of a parameter in float32, with what an update makes it of.
struct Stretch {
  at::Tensor parameter;
  at::Tensor gradient;
  at::Tensor state;  ///< zeros at first
};

/// What an optimiser is, beside where its numbers lie.
struct OneStateRule {
  /// The parameter and the state after an update; `s.gradient` may be overwritten, the others may not.
  using Update = std::pair<at::Tensor, at::Tensor> (*)(const Stretch& s, double learning_rate, double weight_decay,
                                                       const OptimizerOptions& options);
  Update update;
  std::string_view state_name;  ///< in checkpoints
  bool wide_state = false;      ///< float32 whatever the parameter is; else of its dtype
};

/// Works on stretches that fit into a cache, each by one thread on the CPU, so that no tensor is there in float32 as a
/// whole; a float16 parameter has a float32 master and a float32 state (see make_optimizer()).
std::unique_ptr<Optimizer> make_one_state(const OneStateRule& rule,
                                          std::vector<std::pair<std::string, at::Tensor>> parameters,
                                          const OptimizerOptions& options);

// Each in its file.
std::unique_ptr<Optimizer> make_adagrad(std::vector<std::pair<std::string, at::Tensor>> parameters,
                                        const OptimizerOptions& options);
std::unique_ptr<Optimizer> make_lion(std::vector<std::pair<std::string, at::Tensor>> parameters,
                                     const OptimizerOptions& options);
std::unique_ptr<Optimizer> make_rmsprop(std::vector<std::pair<std::string, at::Tensor>> parameters,
                                        const OptimizerOptions& options);

}  // namespace assay::engine
