// Collectives on flat buffers between the ranks of one group.
//
// What the sharding engine needs of a network and nothing else. Implementations: ranks of one machine over shared
// memory, c10d's gloo and NCCL, shared memory within machines and gloo between them, and a fake one that moves nothing.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/call_observer.h"

namespace assay::engine {

/// A collective that cannot be done: a rank died, hangs, or calls something else. One line that names the rank, the
/// collective's number and its label. The group is of no use afterwards: every further call throws the same.
class CommError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// kAverage: the sum times 1 / size. kMax passes NaN on.
enum class ReduceOp { kSum, kAverage, kMax };

/// A collective under way. The buffers it was given must live, and must not be touched, until wait() returned.
class Work {
 public:
  virtual ~Work() = default;

  /// Returns when the results are in place (on CUDA: when the current stream will see them). Throws CommError when a
  /// peer died or the deadline passed. Waiting twice is harmless; a Work that is destroyed without wait() is waited
  /// for.
  virtual void wait() = 0;
};
using WorkPtr = std::unique_ptr<Work>;

/// What one kind of collective cost so far.
struct CollectiveStats {
  std::string_view kind;  ///< "all_gather", "reduce_scatter", "all_reduce", "broadcast", "send", "recv", "barrier"
  int64_t calls = 0;
  int64_t bytes = 0;           ///< of the full (unsharded) buffers
  double busy_seconds = 0;     ///< between a collective's start and its end
  double exposed_seconds = 0;  ///< that callers spent starting them and inside wait(), queueing included
  double hidden_seconds = 0;   ///< of busy_seconds, while the caller was in no collective of any group of this rank
};

/// The ranks of one group. Every rank calls the same collectives in the same order with equal sizes and dtypes; one
/// thread a rank calls. A collective starts at once and runs beside the caller (on a thread of the communicator, or on
/// a stream of its own); collectives of one communicator run one after the other, in call order. Buffers are
/// contiguous, 1-D, of float32, bfloat16, float16, float64 or uint8 (uint8: no reductions). `label` names the unit for
/// errors and traces ("blocks.3 gradients").
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string_view backend() const = 0;  ///< "shm", "gloo", "shm+gloo", "nccl", "fake", "self"

  /// An uninitialised flat buffer in memory that peers reach without a copy where there is such a thing; any other
  /// tensor works too, with a copy. Need not be called by all ranks alike. Freed as any tensor is; must not outlive the
  /// communicator.
  virtual at::Tensor allocate(int64_t elements, at::ScalarType dtype) = 0;

  /// full[r * n, (r + 1) * n) = shard of rank r, n elements each. `shard` may be this rank's part of `full`.
  virtual WorkPtr all_gather(const at::Tensor& full, const at::Tensor& shard, std::string_view label) = 0;
  /// shard = this rank's part of the reduction of `full` over ranks. `full` is used as scratch: undefined afterwards.
  /// `shard` may be this rank's part of `full`. 16-bit sums are made in float32 and rounded once, but for NCCL's.
  virtual WorkPtr reduce_scatter(const at::Tensor& shard, const at::Tensor& full, ReduceOp op,
                                 std::string_view label) = 0;
  /// In place, the same bits on every rank. 16-bit sums as in reduce_scatter().
  virtual WorkPtr all_reduce(const at::Tensor& buffer, ReduceOp op, std::string_view label) = 0;
  virtual WorkPtr broadcast(const at::Tensor& buffer, int root, std::string_view label) = 0;
  /// Point to point, matched in order per pair of ranks. send() copies or posts the buffer at once and does not wait
  /// for its receiver (up to 8 messages a pair); recv() takes place in its wait() at the latest, and the wait() of a
  /// send may last until then: two ranks that send to each other wait for what they receive first.
  virtual WorkPtr send(const at::Tensor& buffer, int to, std::string_view label) = 0;
  virtual WorkPtr recv(const at::Tensor& buffer, int from, std::string_view label) = 0;
  virtual void barrier(std::string_view label) = 0;

  /// A new group of `members` (ranks of this group, ascending, this one among them); the first becomes its rank 0. All
  /// ranks of this group call it together, each with the members of the group that it shall be in. `name` ("data",
  /// "shard") stands in the errors of the new group, which must not outlive this one.
  virtual std::unique_ptr<Communicator> split(const std::vector<int>& members, std::string_view name) = 0;

  /// This rank cannot go on: the calls of all ranks of the job, those under way too, end with `line`, which names it
  /// and says why. Of the group of all ranks. Safe beside calls of other threads. Over NCCL nobody is told.
  virtual void give_up(const std::string& line) = 0;

  virtual std::vector<CollectiveStats> stats() const = 0;
  virtual void reset_stats() = 0;
  /// Tells `observer` of every further collective of this group (not of groups split from it); empty: nobody. Only
  /// while none is under way.
  virtual void set_observer(std::shared_ptr<CallObserver> observer) = 0;
};

}  // namespace assay::engine
