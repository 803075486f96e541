#include "engine/shard/gradient_buckets.h"

#include <fmt/format.h>

#include <utility>

namespace assay::engine {
namespace {

constexpr double kBytesPerMib = 1024.0 * 1024.0;

int64_t gradient_bytes(const FlatGroup& group) {
  return group.weights.layout().elements() * static_cast<int64_t>(c10::elementSize(group.gradients->dtype()));
}

}  // namespace

GradientBuckets::Bucket::Bucket(ShardContext& context, const std::vector<FlatGroup*>& members, int64_t elements,
                                std::string name)
    : buffer(context.allocate, elements, members.front()->gradients->dtype(), MemoryKind::kGradients, context.ledger),
      label(std::move(name)),
      groups(static_cast<int64_t>(members.size())),
      missing(groups) {}

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
    if (!current.empty() && current.front()->gradients->dtype() != group->gradients->dtype()) {
      close();
    }
    current.push_back(group);
    bytes += static_cast<double>(gradient_bytes(*group));
    const double limit = buckets_.empty() ? context.policy.first_bucket_mib : context.policy.bucket_mib;
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

void GradientBuckets::ready(FlatGroup& group) {
  group.gradients->close();
  Bucket& bucket = buckets_[filling_];
  if (--bucket.missing > 0) {
    return;
  }
  bucket.missing = bucket.groups;
  if (ranks_.replicas() > 1) {
    bucket.work = ranks_.replicate->all_reduce(bucket.buffer.flat(), ReduceOp::kAverage, bucket.label);
  }
  filling_ = (filling_ + 1) % buckets_.size();
}

void GradientBuckets::wait() {
  for (Bucket& bucket : buckets_) {
    if (bucket.work != nullptr) {
      bucket.work->wait();
      bucket.work.reset();
    }
  }
}

}  // namespace assay::engine
