#include "engine/shard/gradient_buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay::engine {
namespace {

constexpr double kBytesPerMib = 1024.0 * 1024.0;

int64_t bytes_to_send(const FlatGroup& group) {
  return group.weights.layout().elements() * static_cast<int64_t>(c10::elementSize(group.gradients->travels_as()));
}

}  // namespace

GradientBuckets::Bucket::Bucket(ShardContext& context, const std::vector<FlatGroup*>& members, int64_t elements,
                                std::string name)
    : buffer(context.allocate, elements, members.front()->gradients->dtype(), MemoryKind::kGradients, context.ledger),
      travels_as(members.front()->gradients->travels_as()),
      label(std::move(name)),
      groups(members),
      missing(members.size()) {}

GradientBuckets::GradientBuckets(ShardContext& context, const DataRanks& ranks, std::string label,
                                 const std::vector<FlatGroup*>& groups)
    : context_(context), ranks_(ranks), label_(std::move(label)) {
  std::vector<FlatGroup*> current;
  double bytes = 0;
  const auto close = [&] {
    if (!current.empty()) {
      add_bucket(current);
    }
    current.clear();
    bytes = 0;
  };
  for (FlatGroup* group : groups) {
    if (!current.empty() && current.front()->gradients->travels_as() != group->gradients->travels_as()) {
      close();
    }
    current.push_back(group);
    bytes += static_cast<double>(bytes_to_send(*group));
    const double most = context.policy.bucket_mib;
    const double limit = buckets_.empty() ? std::min(context.policy.first_bucket_mib.value_or(most), most) : most;
    if (bytes >= limit * kBytesPerMib) {
      close();
    }
  }
  close();
}

void GradientBuckets::add_bucket(const std::vector<FlatGroup*>& groups) {
  int64_t elements = 0;
  for (const FlatGroup* group : groups) {
    elements += group->weights.layout().elements();
  }
  Bucket& bucket = buckets_.emplace_back(context_, groups, elements, fmt::format("{} {}", label_, buckets_.size()));
  int64_t offset = 0;
  for (FlatGroup* group : groups) {
    const int64_t length = group->weights.layout().elements();
    group->gradients->put_into(bucket.buffer.flat().narrow(0, offset, length));
    offset += length;
  }
}

void GradientBuckets::open() {
  for (Bucket& bucket : buckets_) {
    const at::Tensor flat = bucket.buffer.flat();
    if (!bucket.averaged || bucket.travels_as == flat.scalar_type()) {
      continue;
    }
    bucket.earlier = std::make_unique<FlatBuffer>(context_.allocate, flat.numel(), flat.scalar_type(),
                                                  MemoryKind::kGradients, context_.ledger);
    bucket.earlier->flat().copy_(flat);
    bucket.averaged = false;
    for (FlatGroup* group : bucket.groups) {
      group->gradients->collect_anew();
    }
  }
}

at::Tensor GradientBuckets::to_send(Bucket& bucket) const {
  const at::Tensor flat = bucket.buffer.flat();
  if (bucket.travels_as == flat.scalar_type()) {
    return flat;
  }
  bucket.sent = std::make_unique<FlatBuffer>(context_.allocate, flat.numel(), bucket.travels_as,
                                             MemoryKind::kCommunication, context_.ledger);
  bucket.sent->flat().copy_(flat);
  return bucket.sent->flat();
}

void GradientBuckets::ready(FlatGroup& group) {
  group.gradients->close();
  Bucket& bucket = buckets_[filling_];
  if (--bucket.missing > 0) {
    return;
  }
  bucket.missing = bucket.groups.size();
  if (ranks_.replicas() > 1) {
    bucket.work = ranks_.replicate->all_reduce(to_send(bucket), ReduceOp::kAverage, bucket.label);
  }
  filling_ = (filling_ + 1) % buckets_.size();
}

void GradientBuckets::wait() {
  for (Bucket& bucket : buckets_) {
    if (bucket.work != nullptr) {
      bucket.work->wait();
      bucket.work.reset();
      bucket.averaged = true;
    }
    if (bucket.sent != nullptr) {
      bucket.buffer.flat().copy_(bucket.sent->flat());
      bucket.sent.reset();
    }
    if (bucket.earlier != nullptr && bucket.averaged) {
      bucket.buffer.flat().add_(bucket.earlier->flat());
      bucket.earlier.reset();
    }
  }
}

void GradientBuckets::step_over() {
  for (Bucket& bucket : buckets_) {
    bucket.averaged = false;
    bucket.earlier.reset();
  }
}

}  // namespace assay::engine
