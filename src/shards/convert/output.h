// Shards on their way to where they will stand: finished by the threads of a pool, written while others are made.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/job_pool.h"
#include "base/status.h"
#include "shards/convert/journal.h"
#include "shards/dataset/place.h"
#include "shards/format/shard_builder.h"
#include "storage/transfers.h"

namespace assay::shards {

/// Belongs to one thread. What it is given is written down, in order, once it stands. The pool and the transfers must
/// outlive it. Once the place's `cancel` is set, writes have a moment to end, then they are cut off: Aborted.
class ShardOutput {
 public:
  ShardOutput(const DatasetPlace& place, JobPool& pool, storage::Transfers& transfers, int threads,
              std::vector<WrittenShard> written);
  /// Waits for what is under way, as above.
  ~ShardOutput();

  /// Waits where too many are under way. `next` is where the rows behind it begin.
  Status Give(BuiltShard shard, const RowPosition& next);
  /// All stand, those before among them.
  Result<std::vector<WrittenShard>> Finish();

 private:
  struct Shard {
    BuiltShard built;
    FinishedShard finished;
    RowPosition next;
    std::string journal{};
    std::vector<std::shared_ptr<storage::Transfer>> writes{};
  };
  using Finished = std::pair<Status, std::shared_ptr<Shard>>;

  /// Takes the oldest that a thread has finished, and begins to write it.
  Status BeginWrite();
  /// Waits for the oldest write, and begins to write it down.
  Status EndWrite();
  Status WaitFor(const Shard& shard);
  int64_t bytes_under_way() const;

  const DatasetPlace place_;
  storage::Transfers& transfers_;
  const size_t threads_;
  InOrder<Finished> finishing_;
  std::deque<std::shared_ptr<Shard>> writing_;
  std::deque<std::shared_ptr<Shard>> noting_;
  std::vector<WrittenShard> written_;
  std::optional<double> cut_off_at_;  // of the monotonic clock
};

}  // namespace assay::shards
