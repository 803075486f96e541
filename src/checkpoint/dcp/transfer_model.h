// How long a save or a load of many ranks takes of a store with limits, without any data: which of them is met first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/dcp/prefix.h"

namespace assay::checkpoint {

/// What a store allows, and the machines that reach it. 0: no limit.
struct StoreLimits {
  double read_seconds = 0;  ///< until the first byte of an answer, median
  double write_seconds = 0;
  double slow_write_seconds = 0;  ///< of one in a hundred
  double slow_read_seconds = 0;
  double connection_bytes_per_s = 0;
  double machine_bytes_per_s = 0;  ///< of all ranks of a machine together
  double prefix_reads_per_s = 0;   ///< a prefix: all of a key but its last part
  double prefix_writes_per_s = 0;
};

/// A state that is shared out over ranks.
struct ModelledRanks {
  std::vector<int64_t> bytes{};  ///< of each rank
  int64_t chunks = 0;            ///< of tensors, over all ranks: each has its place in .metadata
  int ranks_per_machine = 8;
  int files_per_rank = 1;
  PrefixOptions prefix{};
};

enum class Transfer { kSave, kLoad };

struct ModelledTransfer {
  std::vector<double> rank_seconds{};  ///< of a save without its commit
  double commit_seconds = 0;           ///< of a save: rank 0 asks for every file, then writes what makes it valid
  int64_t files = 0;
  int64_t prefixes = 0;
  int64_t requests = 0;
  int64_t busiest_prefix_requests = 0;
  int64_t metadata_bytes = 0;  ///< that each rank reads before a load
  /// What the slowest rank waits for most: "connections", "the machine", "latency", "requests of a prefix", "metadata".
  std::string limited_by{};

  /// Of all ranks.
  double seconds() const;
};

/// As this program's client does it: files of more than 32 MiB in parts of 8 MiB, on at most 32 connections a file
/// (docs/storage.md). Ranks begin at once; a rank's latencies but the first come while others of its parts move. Tail:
/// where a rank sends a hundred requests and more, one of them is slow.
ModelledTransfer ModelTransfer(const ModelledRanks& ranks, const StoreLimits& limits, Transfer transfer);

}  // namespace assay::checkpoint
