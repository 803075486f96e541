// The Transformer of Lightning's demos (lightning/pytorch/demos/transformer.py), with which the published benchmark of
// single-file checkpoints trains.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::engine {

/// Not safe to use from two threads. Rows are random tokens: WikiText2 is not at hand everywhere, and what is saved has
/// the same size.
class DemoTransformer {
 public:
  static constexpr int64_t kTokens = 35;  ///< of a step

  DemoTransformer(int64_t layers, uint64_t seed);
  ~DemoTransformer();
  DemoTransformer(const DemoTransformer&) = delete;
  DemoTransformer& operator=(const DemoTransformer&) = delete;

  /// A step of SGD at rate 0.1 on one row; its loss.
  double step();
  /// By the names that they have in a state dict of the Python module.
  const std::vector<std::pair<std::string, at::Tensor>>& parameters() const { return parameters_; }

 private:
  struct Modules;

  std::unique_ptr<Modules> modules_;
  std::vector<std::pair<std::string, at::Tensor>> parameters_;
};

}  // namespace assay::engine
