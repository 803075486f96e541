// Events of the ranks of a run, beyond those that every run has once (event.h). A run on one rank has its RankStep
// events; the others are of runs over ranks.
//
// Each rank writes events of its own; those with a `rank` come from that rank, the others from rank 0, as do Loaded,
// Step, Saved and Ended. Where a rank fails, it writes Ended itself, and its reason names the rank.
#pragma once

#include <cstdint>
#include <string>

namespace assay::job {

/// How the ranks are arranged; after Started, before Loaded.
struct Topology {
  int64_t world_size = 1;
  int64_t data_ranks = 1;   ///< that read different images
  int64_t shard_ranks = 1;  ///< that share one copy of the sharded state
  int64_t tensor_ranks = 1;
  int64_t pipeline_stages = 1;
  std::string plugin = {};     ///< as in the plan
  std::string precision = {};  ///< as in the plan
  std::string backend = {};    ///< gloo | shm+gloo | nccl | shared_memory | fake
  int64_t units = 0;           ///< that the model was cut into for gathering and reduction
  int64_t largest_unit_parameters = 0;
};

/// What one rank spent one optimiser step on; the same step as Step tells of for rank 0.
struct RankStep {
  int64_t rank = 0;
  int64_t step = 0;             ///< from 1
  double began_seconds = 0;     ///< on the monotonic clock of the rank's machine
  double seconds = 0;           ///< wall time of the step on this rank
  double data_seconds = 0;      ///< until the batch was there
  double transfer_seconds = 0;  ///< batch from host to device
  double forward_seconds = 0;
  double backward_seconds = 0;
  double optimizer_seconds = 0;
  double communication_seconds = 0;          ///< collectives, from start to end, summed
  double exposed_communication_seconds = 0;  ///< that computation was held up by communication, queueing included
  double hidden_communication_seconds = 0;   ///< of communication_seconds, beside computation
  double forward_exposed_seconds = 0;        ///< of forward_seconds, the part that was exposed; likewise:
  double backward_exposed_seconds = 0;
  double optimizer_exposed_seconds = 0;
  double offload_seconds = 0;  ///< waited for copies between host and device memory
  double loss_scale = 1;
  bool skipped = false;  ///< a gradient overflowed: nothing was updated
};

/// What a rank spent on a data set of shards that it read while it trained: from the plan's begin to the training's
/// end, with what was read ahead of the last step.
struct DataUse {
  int64_t rank = 0;
  int64_t samples = 0;      ///< that were read
  int64_t used_bytes = 0;   ///< of these, as shards hold them
  int64_t asked_bytes = 0;  ///< by reads of the store, of the index too; 0 of local files, which are mapped; likewise:
  int64_t received_bytes = 0;  ///< in the answers, those of requests that were sent again among them
  int64_t requests = 0;        ///< that the store answered, its own failures apart
  int64_t retries = 0;         ///< that were sent again
  int64_t fetched_shards = 0;
  int64_t cached_shards = 0;  ///< that came out of the cache
  int64_t unkept_shards = 0;  ///< that the cache could not take
  double cpu_seconds = 0;     ///< of the threads that fetch, check, decode and tokenise; not of those that only receive
};

/// The model held against the evaluation images. Over all ranks; each image counts once.
struct Evaluation {
  int64_t epoch = 0;    ///< from 1: after so many epochs
  int64_t step = 0;     ///< after so many optimiser steps
  double loss = 0;      ///< mean cross-entropy of an image
  double accuracy = 0;  ///< part of the images whose largest logit is their label
  int64_t samples = 0;
  double seconds = 0;
};

/// What a rank's tensor memory holds at its peak. The parts add up to peak_bytes.
struct MemoryLedger {
  int64_t rank = 0;
  std::string phase = {};        ///< init (until the first step) | steady (the steps after warm-up) | save
  std::string source = {};       ///< measured | predicted
  int64_t parameters_bytes = 0;  ///< as the model computes with them, sharded or gathered
  int64_t gradients_bytes = 0;
  int64_t master_bytes = 0;  ///< fp32 copies of parameters
  int64_t moments_bytes = 0;
  int64_t buckets_bytes = 0;      ///< of communication, beyond gradients that are views of them
  int64_t activations_bytes = 0;  ///< kept from forward for backward
  int64_t temporaries_bytes = 0;  ///< the rest
  int64_t peak_bytes = 0;
  int64_t reserved_bytes = 0;  ///< what the allocator holds of the device; 0: not known
  int64_t host_bytes = 0;      ///< offloaded state in host memory: part of the peak where the CPU is the device
};

/// All collectives of one kind in one group, over the measured steps.
struct CollectiveTotals {
  int64_t rank = 0;
  std::string operation = {};  ///< all_gather | reduce_scatter | all_reduce | broadcast | send | receive | barrier
  std::string group = {};  ///< data | shard | replica | tensor | pipeline | expert | model (tensor x pipeline) | world
  int64_t group_size = 1;
  int64_t calls = 0;
  /// Of the whole vector: the gathered one of all_gather, the one before of reduce_scatter. Bus bandwidth follows by
  /// the factor of the operation: (n - 1) / n of gather and scatter, twice that of all_reduce, 1 of the others.
  int64_t payload_bytes = 0;
  double seconds = 0;          ///< from start to end of each, summed
  double exposed_seconds = 0;  ///< while computation waited for it
};

/// A save or a load that a checkpoint benchmark measured, as one rank saw it.
struct CheckpointTransfer {
  int64_t rank = 0;
  std::string operation = {};  ///< save | load
  int64_t repeat = 0;          ///< from 1
  double began_seconds = 0;    ///< on the monotonic clock of the rank's machine, once all ranks had met
  double seconds = 0;          ///< until the rank's call returned: of a save, all is published by then
  double stall_seconds = 0;    ///< of them a training would have waited
  double cpu_seconds = 0;      ///< of the rank's process
  int64_t state_bytes = 0;     ///< of all ranks' tensors
  /// Resident memory at its peak, beyond what there was before and the tensors' own; -1: the system does not tell.
  int64_t beyond_bytes = -1;
  bool is_verified = false;  ///< what was loaded, after a save too, was compared with what was saved
  /// To a bucket, as stores bill them: GET and HEAD; PUT, POST and listings; sent again. -1: the client does not tell.
  int64_t read_requests = -1;
  int64_t write_requests = -1;
  int64_t retries = -1;
};

/// What a save or a load of ranks without data asks of a store; their times are CheckpointTransfer events.
struct CheckpointModel {
  int64_t files = 0;
  int64_t prefixes = 0;  ///< that these lie under
  int64_t requests = 0;
  int64_t busiest_prefix_requests = 0;
  int64_t metadata_bytes = 0;
  double commit_seconds = 0;
  std::string limited_by = {};  ///< what the slowest rank waits for most
};

}  // namespace assay::job
