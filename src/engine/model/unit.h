// How sharding is applied to a model from outside: the model names its units and calls hooks around each one's forward.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace assay::engine {

/// A parameter by reference: sharding replaces the tensor behind `tensor` (by a view of a flat buffer).
struct ParameterRef {
  std::string name;  ///< in the Hugging Face checkpoint
  at::Tensor* tensor = nullptr;
  /// Its gradient is part of the global norm here. Of parameters that ranks with other parts of the model have too,
  /// one rank counts it.
  bool counts_in_norm = true;
  /// Works between the blocks of a layer, on this rank's tokens where ranks divide these (SplitHooks).
  bool between_blocks = false;
  /// The ranks of ShardGroups::tensor have it too, each with a part of its gradient: their sum counts.
  bool sums_gradient = false;
  /// The ranks of ShardGroups::ends have it too, each with a part of its gradient: their sum counts.
  bool at_both_ends = false;
  /// Of an expert, of which ranks may hold different ones: each rank lists those that it holds (see ShardGroups).
  bool expert = false;
};

/// Parameters that are used together, one layer as a rule: what is gathered and freed at once. Units are listed in the
/// order of the forward pass; a parameter that two units share belongs to the first and is named in `also_uses` of the
/// other.
struct ParameterUnit {
  std::string name;  ///< "vit.encoder.layer.3"
  std::vector<ParameterRef> parameters;
  std::vector<int64_t> also_uses;  ///< indices of units whose parameters this one reads too
};

/// Called by a model around the forward of each unit, also when gradient checkpointing runs it again inside backward
/// (`again`). Each may return its tensor wrapped in an identity of autograd, so that it learns when backward enters
/// the unit (the gradient of after_forward()'s tensor arrives) and leaves it (that of before_forward()'s).
class UnitHooks {
 public:
  virtual ~UnitHooks() = default;
  /// The unit's parameters must be usable from here on.
  virtual at::Tensor before_forward(int64_t unit, const at::Tensor& input, bool again) = 0;
  virtual at::Tensor after_forward(int64_t unit, const at::Tensor& output, bool again) = 0;
};

/// A model that sharding can be applied to.
class Shardable {
 public:
  virtual ~Shardable() = default;
  /// Pointers stay valid as long as the model. Between them the units hold every parameter once.
  virtual std::vector<ParameterUnit> units() = 0;
  /// `hooks` must outlive the model's use; nullptr takes them off.
  virtual void set_unit_hooks(UnitHooks* hooks) = 0;
};

}  // namespace assay::engine
