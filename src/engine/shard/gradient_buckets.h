// Gradients that nobody splits, averaged several units at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/shard/flat_group.h"

namespace assay::engine {

/// Li et al. 2020, "PyTorch Distributed": buckets are filled in the order in which backward makes gradients, and a
/// bucket is averaged over the replicas once all of it is there. Gradients lie in the buckets from the start.
class GradientBuckets {
 public:
  /// `groups`: trainable, all held by `ranks`, in the order in which they will be ready. `label` of a bucket, before
  /// its number.
  GradientBuckets(ShardContext& context, const DataRanks& ranks, std::string label,
                  const std::vector<FlatGroup*>& groups);

  /// A backward begins. What was averaged since the last step, and travels in fewer bits than it is added up in, is
  /// laid aside, so that of each backward only its own gradients travel.
  void open();
  /// All gradients of the group are there. Called for each group once a reduction, in the constructor's order.
  void ready(FlatGroup& group);
  void wait();
  /// After a step: what is ready next begins a new sum.
  void step_over();

 private:
  struct Bucket {
    Bucket(ShardContext& context, const std::vector<FlatGroup*>& groups, int64_t elements, std::string label);

    FlatBuffer buffer;
    at::ScalarType travels_as;
    std::unique_ptr<FlatBuffer> sent;     ///< while the buffer is averaged in another dtype than its own
    std::unique_ptr<FlatBuffer> earlier;  ///< averages of earlier backwards, while the buffer collects another's
    std::string label;
    std::vector<FlatGroup*> groups;
    size_t missing;
    bool averaged = false;  ///< the buffer holds an average, since the last step
    WorkPtr work;
  };
  void add_bucket(const std::vector<FlatGroup*>& groups);
  at::Tensor to_send(Bucket& bucket) const;

  ShardContext& context_;
  DataRanks ranks_;
  std::string label_;
  std::deque<Bucket> buckets_;
  size_t filling_ = 0;
};

}  // namespace assay::engine
