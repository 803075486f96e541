// Element-wise results that backward makes again instead of keeping them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <functional>
#include <utility>

namespace assay::engine {

/// Makes a result again, to the bit, from tensors that are kept anyway. Several operations may share one: each adds
/// itself in forward and takes the result once in backward; with the last of them the result and what it was made from
/// are let go. Backward can therefore run once only. Not safe to use from two threads.
class Recompute : public torch::CustomClassHolder {
 public:
  /// `make` must hold detached tensors: a result with a history would keep its own graph alive.
  explicit Recompute(std::function<at::Tensor()> make) : make_(std::move(make)) {}

  void add_user() { ++users_; }
  /// Throws c10::Error when more is taken than users were added.
  at::Tensor take();

 private:
  std::function<at::Tensor()> make_;
  at::Tensor result_;
  int64_t users_ = 0;
};

/// Null: the result itself is kept.
using RecomputePtr = c10::intrusive_ptr<Recompute>;

}  // namespace assay::engine
