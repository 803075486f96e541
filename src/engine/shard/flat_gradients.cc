#include "engine/shard/flat_gradients.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace assay::engine {
namespace {

at::ScalarType dtype_of_sum(const ShardPolicy& policy, at::ScalarType travels_as) {
  return policy.several_backwards && c10::elementSize(travels_as) < sizeof(float) ? at::kFloat : travels_as;
}

/// sum += factor * gradient. On a CPU libtorch copies a gradient of another dtype as a whole: stretch by stretch it is
/// a copy that stays in the cache.
void add_scaled_to(const at::Tensor& sum, const at::Tensor& gradient, double factor) {
  constexpr int64_t kStretch = 1 << 16;
  if (!sum.is_cpu() || sum.scalar_type() == gradient.scalar_type() || !gradient.is_contiguous()) {
    sum.add_(gradient, factor);
    return;
  }
  const at::Tensor flat = gradient.view(-1);
  const at::Tensor flat_sum = sum.view(-1);
  for (int64_t begin = 0; begin < flat.numel(); begin += kStretch) {
    const int64_t count = std::min(kStretch, flat.numel() - begin);
    flat_sum.narrow(0, begin, count).add_(flat.narrow(0, begin, count), factor);
  }
}

}  // namespace

FlatGradients::FlatGradients(ShardContext& context, const DataRanks& ranks, const FlatLayout& layout,
                             at::ScalarType travels_as, const std::string& unit, bool offload)
    : context_(context),
      ranks_(ranks),
      layout_(layout),
      travels_as_(travels_as),
      dtype_(dtype_of_sum(context.policy, travels_as)),
      label_(unit + " gradients"),
      written_(layout.parameters().size()),
      used_(layout.parameters().size()) {
  if (layout.ranks() == 1 && !offload) {
    return;
  }
  whole_ = std::make_unique<FlatBuffer>(context.allocate, layout.elements(), dtype_, MemoryKind::kCommunication,
                                        context.ledger);
  whole_->release();
  make_shard(offload);
}

void FlatGradients::make_shard(bool offload) {
  offload_ = offload;
  offload_next_ = offload;
  shard_ =
      std::make_unique<FlatBuffer>(offload ? context_.allocate_host : context_.allocate, layout_.shard_elements(),
                                   dtype_, offload ? MemoryKind::kOffloaded : MemoryKind::kGradients, context_.ledger);
  shard_->release();
}

void FlatGradients::put_into(const at::Tensor& part_of_bucket) {
  place_in_bucket_ = part_of_bucket;
}

void FlatGradients::add(size_t parameter, const at::Tensor& gradient) {
  const at::NoGradGuard no_grad;
  const FlatParameter& p = layout_.parameters()[parameter];
  if (closed_) {
    throw std::logic_error(
        fmt::format("a gradient of '{}' came after the reduction of its unit had begun: the unit was used again after "
                    "backward had left it",
                    p.name));
  }
  if (!in_bucket()) {
    whole_->allocate();
  }
  const at::Tensor place = flat().narrow(0, p.offset, p.elements).view(p.shape);
  if (written_[parameter]) {
    add_scaled_to(place, gradient, ranks_.gradient_factor);
  } else {
    place.copy_(gradient);
    if (ranks_.gradient_factor != 1) {
      place.mul_(ranks_.gradient_factor);
    }
  }
  written_[parameter] = true;
  used_[parameter] = true;
}

void FlatGradients::close() {
  const at::NoGradGuard no_grad;
  closed_ = true;
  if (!in_bucket()) {
    whole_->allocate();
  }
  const at::Tensor whole = flat();
  for (const FlatLayout::Gap& gap : layout_.gaps()) {
    whole.narrow(0, gap.offset, gap.elements).zero_();
  }
  for (size_t i = 0; i < written_.size(); ++i) {
    if (!written_[i]) {
      const FlatParameter& p = layout_.parameters()[i];
      whole.narrow(0, p.offset, p.elements).zero_();
      written_[i] = true;
    }
  }
}

/// The whole buffer in the dtype that it travels as.
at::Tensor FlatGradients::to_send() {
  const bool travels = layout_.ranks() > 1 || ranks_.replicas() > 1;
  if (!travels || travels_as_ == dtype_) {
    return whole_->flat();
  }
  const at::NoGradGuard no_grad;
  sent_ = std::make_unique<FlatBuffer>(context_.allocate, layout_.elements(), travels_as_, MemoryKind::kCommunication,
                                       context_.ledger);
  sent_->flat().copy_(whole_->flat());
  whole_->release();
  return sent_->flat();
}

void FlatGradients::begin_reduce() {
  close();
  stage_ = Stage::kScattering;
  const at::Tensor sent = to_send();
  if (offload_ || shard_holds_sum_ || sent_ != nullptr || layout_.ranks() == 1) {
    target_ = sent.narrow(0, ranks_.shard_rank() * layout_.shard_elements(), layout_.shard_elements());
  } else {
    shard_->allocate();
    target_ = shard_->flat();
  }
  if (layout_.ranks() > 1) {
    work_ = ranks_.shard->reduce_scatter(target_, sent, ReduceOp::kAverage, label_);
  }
}

bool FlatGradients::advance_reduce() {
  if (stage_ == Stage::kIdle) {
    return true;
  }
  if (work_ != nullptr) {
    work_->wait();
    work_.reset();
  }
  if (stage_ == Stage::kScattering && ranks_.replicas() > 1) {
    work_ = ranks_.replicate->all_reduce(target_, ReduceOp::kAverage, label_);
    stage_ = Stage::kAveraging;
    return false;
  }
  take_reduced();
  return true;
}

void FlatGradients::take_reduced() {
  const at::NoGradGuard no_grad;
  if (shard_holds_sum_) {
    shard_->flat().add_(target_.to(shard_->flat().device()));
  } else if (offload_ || sent_ != nullptr || layout_.ranks() == 1) {
    shard_->allocate();
    shard_->flat().copy_(target_);
  }
  shard_holds_sum_ = true;
  target_ = at::Tensor();
  sent_.reset();
  whole_->release();
  written_.assign(written_.size(), false);
  stage_ = Stage::kIdle;
}

at::Tensor FlatGradients::reduced() const {
  if (in_bucket()) {
    return place_in_bucket_;
  }
  return shard_holds_sum_ ? shard_->flat() : at::Tensor();
}

void FlatGradients::reset() {
  if (!in_bucket()) {
    whole_->release();
    shard_->release();
  }
  if (!in_bucket() && offload_next_ != offload_) {
    make_shard(offload_next_);
  }
  shard_holds_sum_ = false;
  written_.assign(written_.size(), false);
  used_.assign(used_.size(), false);
}

}  // namespace assay::engine
