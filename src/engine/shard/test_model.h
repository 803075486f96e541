// A small language model whose units can be sharded: shared, unused, frozen and expert parameters, checkpointing.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/model/causal_lm.h"
#include "engine/model/gradient_checkpointing.h"
#include "engine/model/unit.h"
#include "engine/shard/test_experts.h"

namespace assay::engine::testing {

struct TestModelOptions {
  int64_t layers = 3;
  int64_t hidden = 24;
  int64_t vocabulary = 37;
  bool tied = true;         ///< the head reads the embedding
  bool unused = false;      ///< layer 1 has a parameter that nothing reads
  bool skip_layer = false;  ///< layer 0 is never run
  bool frozen = false;      ///< gate and up of every layer are frozen, as under an adapter
  bool checkpointed = false;
  int64_t experts = 0;  ///< of every layer, in the place of its MLP
  uint64_t seed = 7;
  c10::DeviceType device = c10::kCPU;
};

/// x + swiglu(norm(x) G, norm(x) U) D in each layer. Of experts, those of `place` are here.
class TestModel : public Shardable {
 public:
  explicit TestModel(const TestModelOptions& options, const ExpertPlace& place = {});

  std::vector<ParameterUnit> units() override;

  void set_unit_hooks(UnitHooks* hooks) override { hooks_ = hooks; }

  /// Whether the parameter that else is unused, and the last expert, take part.
  void use_unused(bool use) { unused_used_ = use; }

  /// The mean over the tokens.
  at::Tensor loss(const at::Tensor& ids_T, const at::Tensor& targets_T);

  std::vector<NamedTensor> parameters();

 private:
  struct Layer {
    at::Tensor norm_H, gate_IH, up_IH, down_HI, unused, down_bias_H;
    Experts experts;
  };

  at::Tensor enter(int64_t unit, const at::Tensor& x, bool again);
  at::Tensor leave(int64_t unit, const at::Tensor& x, bool again);
  void route(const at::Tensor& ids_T);
  at::Tensor mlp(const Layer& layer, const at::Tensor& x_TH) const;
  LayerResult run(size_t index, const LayerState& input, bool again);

  TestModelOptions options_;
  at::Tensor embedding_VH_;
  std::vector<Layer> layers_;
  at::Tensor norm_H_;
  at::Tensor head_VH_;
  UnitHooks* hooks_ = nullptr;
  bool unused_used_ = false;
  at::Tensor expert_T_;  ///< of each token of the loss() under way
};

/// Token ids and targets of one micro-batch of one rank: a function of its arguments, the same wherever it is
/// asked.
struct TestBatch {
  at::Tensor ids_T;
  at::Tensor targets_T;
};
TestBatch test_batch(const TestModelOptions& options, int64_t step, int64_t part);

}  // namespace assay::engine::testing
