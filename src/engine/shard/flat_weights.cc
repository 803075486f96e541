#include "engine/shard/flat_weights.h"

#include <ATen/core/grad_mode.h>

#include <utility>

namespace assay::engine {
namespace {

std::vector<std::pair<std::string, std::vector<int64_t>>> names_and_shapes(
    const std::vector<ParameterRef>& parameters) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> result;
  for (const ParameterRef& p : parameters) {
    result.emplace_back(p.name, p.tensor->sizes().vec());
  }
  return result;
}

bool is_16_bit(at::ScalarType dtype) {
  return dtype == at::kHalf || dtype == at::kBFloat16;
}

}  // namespace

FlatWeights::FlatWeights(ShardContext& context, const DataRanks& ranks, const std::string& unit,
                         const std::vector<ParameterRef>& parameters, const UnitPlacement& placement, int64_t elements)
    : context_(context),
      ranks_(ranks),
      placement_(placement),
      label_(unit + " weights"),
      trainable_(parameters.front().tensor->requires_grad()),
      layout_(names_and_shapes(parameters), ranks.shard_ranks(), elements) {
  const at::NoGradGuard no_grad;
  const ShardPolicy& policy = context.policy;
  const at::ScalarType compute = policy.param_dtype.value_or(parameters.front().tensor->scalar_type());
  const at::ScalarType master = trainable_ && policy.float32_master && is_16_bit(compute) ? at::kFloat : compute;
  const bool alone = ranks.shard_ranks() == 1;
  const bool master_is_full = alone && (!trainable_ || (master == compute && !placement.offload_optimizer));
  // Weights that would rest whole in the dtype they are read in need no gathering.
  const bool rest_is_full = alone && !placement.offload_parameters && (master_is_full || placement.offload_optimizer);
  kept_ = policy.keep_weights || placement.keep_gathered || rest_is_full;
  full_ = std::make_unique<FlatBuffer>(context.allocate, layout_.elements(), compute, MemoryKind::kParameters,
                                       context.ledger);
  at::Tensor whole = full_->flat();
  std::unique_ptr<FlatBuffer> exact;  // the initial values before they are rounded
  if (master != compute) {
    exact = std::make_unique<FlatBuffer>(context.allocate, layout_.elements(), master, MemoryKind::kCommunication,
                                         context.ledger);
    whole = exact->flat();
  }
  if (ranks.is_first()) {
    fill(whole, parameters);
  }
  broadcast(whole);
  if (exact != nullptr) {
    full_->flat().copy_(whole);
  }
  bind(parameters);
  if (trainable_) {
    make_master(whole);
  }
  if (!kept_) {
    make_resting(own_part(whole));
    full_->release();
    state_ = State::kReleased;
  }
  if (policy.gather_float8 && (trainable_ || !kept_)) {
    float8_ = std::make_unique<Float8Gather>(context, ranks_, layout_, label_);
  }
}

void FlatWeights::fill(const at::Tensor& flat, const std::vector<ParameterRef>& parameters) const {
  for (const FlatLayout::Gap& gap : layout_.gaps()) {
    flat.narrow(0, gap.offset, gap.elements).zero_();
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const FlatParameter& p = layout_.parameters()[i];
    flat.narrow(0, p.offset, p.elements).view(p.shape).copy_(*parameters[i].tensor);
  }
}

void FlatWeights::broadcast(const at::Tensor& flat) const {
  for (Communicator* group : {ranks_.replicate, ranks_.shard}) {
    if (group != nullptr && group->size() > 1) {
      group->broadcast(flat, 0, label_)->wait();
    }
  }
}

void FlatWeights::bind(const std::vector<ParameterRef>& parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const FlatParameter& p = layout_.parameters()[i];
    leaves_.push_back(full_->view(p.offset, p.shape).requires_grad_(trainable_));
    *parameters[i].tensor = leaves_.back();
  }
}

at::Tensor FlatWeights::own_part(const at::Tensor& flat) const {
  return flat.narrow(0, ranks_.shard_rank() * layout_.shard_elements(), layout_.shard_elements());
}

void FlatWeights::make_master(const at::Tensor& whole) {
  const at::Tensor own = own_part(full_->flat());
  // What arrives in 8 bits is written over the whole buffer, this rank's part included: no place for exact values.
  const bool exact = kept_ && !context_.policy.gather_float8;
  if (exact && whole.scalar_type() == own.scalar_type() && !placement_.offload_optimizer) {
    master_ = own;
    return;
  }
  const bool gathered_from = !kept_ && !placement_.offload_parameters && whole.scalar_type() == own.scalar_type();
  const MemoryKind kind = placement_.offload_optimizer ? MemoryKind::kOffloaded
                          : gathered_from              ? MemoryKind::kParameters
                                                       : MemoryKind::kMaster;
  master_buffer_ =
      std::make_unique<FlatBuffer>(placement_.offload_optimizer ? context_.allocate_host : context_.allocate,
                                   layout_.shard_elements(), whole.scalar_type(), kind, context_.ledger);
  master_ = master_buffer_->flat();
  master_.copy_(own_part(whole));
  if (kept_) {
    master_copy_ = own;
  }
}

void FlatWeights::make_resting(const at::Tensor& own) {
  if (trainable_ && !placement_.offload_optimizer && !placement_.offload_parameters) {
    return;
  }
  const bool host = placement_.offload_parameters;
  resting_buffer_ = std::make_unique<FlatBuffer>(
      host ? context_.allocate_host : context_.allocate, layout_.shard_elements(), full_->flat().scalar_type(),
      host ? MemoryKind::kOffloaded : MemoryKind::kParameters, context_.ledger);
  resting_buffer_->flat().copy_(own);
  if (trainable_) {
    master_copy_ = resting_buffer_->flat();
  }
}

void FlatWeights::offload_master() {
  const at::NoGradGuard no_grad;
  wait_gather();
  placement_.offload_optimizer = true;
  auto host = std::make_unique<FlatBuffer>(context_.allocate_host, layout_.shard_elements(), master_.scalar_type(),
                                           MemoryKind::kOffloaded, context_.ledger);
  host->flat().copy_(master_);
  if (!master_copy_.defined() && master_buffer_ != nullptr && master_.scalar_type() == dtype()) {
    resting_buffer_ = std::move(master_buffer_);  // it was gathered from, and still is
    master_copy_ = resting_buffer_->flat();
  }
  master_buffer_ = std::move(host);
  master_ = master_buffer_->flat();
  if (!master_copy_.defined() && kept_) {
    master_copy_ = own_part(full_->flat());
  } else if (!master_copy_.defined()) {
    make_resting(master_);
  }
}

void FlatWeights::return_master() {
  const at::NoGradGuard no_grad;
  wait_gather();
  placement_.offload_optimizer = false;
  const at::Tensor host = master_;
  const std::unique_ptr<FlatBuffer> keeps = std::move(master_buffer_);
  const bool copy_is_exact = host.scalar_type() == dtype() && !placement_.offload_parameters;
  if (copy_is_exact && !(kept_ && context_.policy.gather_float8)) {
    master_ = master_copy_;
    master_buffer_ = std::move(resting_buffer_);
    master_copy_ = at::Tensor();
    return;
  }
  master_buffer_ = std::make_unique<FlatBuffer>(context_.allocate, layout_.shard_elements(), host.scalar_type(),
                                                MemoryKind::kMaster, context_.ledger);
  master_ = master_buffer_->flat();
  master_.copy_(host);
  if (!kept_ && !placement_.offload_parameters) {
    resting_buffer_.reset();
    master_copy_ = at::Tensor();
  }
}

at::Tensor FlatWeights::resting_shard() const {
  if (trainable_) {
    return master_;
  }
  return resting_buffer_ != nullptr ? resting_buffer_->flat() : own_part(full_->flat());
}

void FlatWeights::begin_gather() {
  if (state_ == State::kReady || state_ == State::kGathering) {
    return;
  }
  const at::NoGradGuard no_grad;
  const bool from_rest = state_ == State::kReleased;
  full_->allocate();
  state_ = State::kGathering;
  const at::Tensor full = full_->flat();
  const at::Tensor own = own_part(full);
  const at::Tensor source = !from_rest ? own : resting_buffer_ != nullptr ? resting_buffer_->flat() : master_;
  if (float8_ != nullptr) {
    float8_->begin(source);
    return;
  }
  const bool sendable = source.scalar_type() == full.scalar_type() && source.device() == full.device();
  if (from_rest && (layout_.ranks() == 1 || !sendable)) {
    own.copy_(source, /*non_blocking=*/true);
  }
  if (layout_.ranks() > 1) {
    work_ = ranks_.shard->all_gather(full, sendable ? source : own, label_);
  }
}

void FlatWeights::wait_gather() {
  if (state_ != State::kGathering) {
    return;
  }
  if (work_ != nullptr) {
    work_->wait();
    work_.reset();
  }
  if (float8_ != nullptr) {
    float8_->finish(full_->flat());
  }
  state_ = State::kReady;
}

void FlatWeights::release() {
  if (kept_ || state_ == State::kReleased) {
    return;
  }
  wait_gather();
  full_->release();
  state_ = State::kReleased;
}

void FlatWeights::mark_updated() {
  if (!kept_) {
    release();
  } else if (layout_.ranks() > 1 || float8_ != nullptr) {
    state_ = State::kStale;
  }
}

void FlatWeights::publish_master() {
  const at::NoGradGuard no_grad;
  if (master_copy_.defined()) {
    master_copy_.copy_(master_);
  }
  mark_updated();
}

}  // namespace assay::engine
