// Which sample is whose turn, in closed form.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace assay::shards {

/// Machines, ranks and loader workers that an epoch is dealt to.
struct World {
  int64_t nodes = 1;
  int64_t ranks_per_node = 1;
  int64_t workers_per_rank = 1;

  int64_t ranks() const { return nodes * ranks_per_node; }
};

struct PartitionSpec {
  int64_t samples = 0;
  int64_t canonical_nodes = 1;
  World world;
  int64_t batch = 1;       ///< samples of a rank
  int64_t drop_first = 0;  ///< samples of the epoch that were dealt already; rounded down to a multiple of the nodes
};

/// The partition `orig` of mosaicml-streaming 0.13 without its tensor of five dimensions: every entry is computed from
/// its place. Places are those of a training that takes batches in turn: global batch, node, rank, sample of the batch;
/// place [t * G, (t + 1) * G) is global batch t of G = nodes * ranks * batch samples whatever those three are, which is
/// what lets another number of ranks go on with the same order. Plain data; immutable.
class Partition {
 public:
  /// Refuses, as streaming does: canonical and physical nodes of which neither divides the other, more samples dropped
  /// than are dealt (streaming: than there are, rounded up to its ranks); and, where streaming's slices do not fit,
  /// fewer samples than nodes need.
  static Result<Partition> Make(const PartitionSpec& spec);

  /// Places, padding included: a multiple of workers * G.
  int64_t size() const { return batches_ * world_.ranks() * batch_; }
  /// Global batches without padding.
  int64_t full_batches() const { return per_rank_ / batch_; }
  /// What is dealt from the beginning of the epoch on: its samples, and those that are repeated so that nodes have as
  /// many.
  int64_t dealt() const { return canonical_nodes_ * (per_canonical_ + padding_); }
  /// Samples that a rank has before its padding, repeated ones included.
  int64_t per_rank() const { return per_rank_; }
  /// The sample at `place`, or -1 for padding behind a rank's last.
  int64_t At(int64_t place) const;

 private:
  explicit Partition(const PartitionSpec& spec);
  /// What canonical node `node` has at `index`.
  int64_t OfCanonicalNode(int64_t node, int64_t index) const;

  int64_t samples_;
  int64_t canonical_nodes_;
  World world_;
  int64_t batch_;
  int64_t dropped_;
  int64_t per_canonical_;     // samples of a canonical node, of which the last may be one that repeats
  int64_t node_ratio_ = 0;    // physical nodes a canonical one, where there are more
  int64_t padding_ = 0;       // so that the ratio divides
  bool repeats_all_ = false;  // fewer samples than nodes: all of them over and over
  int64_t per_node_ = 0;      // samples of a physical node
  int64_t missing_ = 0;       // so that its ranks divide
  int64_t per_rank_ = 0;
  int64_t batches_ = 0;  // of a rank, padding included
};

}  // namespace assay::shards
