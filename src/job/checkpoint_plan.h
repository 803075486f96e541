// The plan of a checkpoint benchmark: what is saved and loaded, by whom, where and how often.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/training_plan.h"

namespace assay::job {

/// Plain data. Of what all trainings have it uses the ranks, the seed, threads, output_dir (the place, a folder or a
/// bucket's prefix), checkpoint_writer and keys of the same names. What is saved are float32 values that follow from
/// the seed, the tensor's place in the list and the element's in the tensor alone, so that anybody can check them.
struct CheckpointPlan : TrainingPlan {
  static constexpr int kSchema = 1;

  std::string client = "assay";  ///< the library that does it
  std::string program;           ///< that carries the plan out, started as a worker is; empty: assay-worker
  std::string format = "dcp";    ///< dcp (output_dir/step-N/) | ckpt (output_dir/step-N.ckpt, of one rank)
  /// Of a dcp: "NAME 4096x11008" each, whose rows the ranks share in equal parts, as FSDP's sharded state dict has
  /// them.
  std::vector<std::string> tensors;
  int64_t layers = 0;              ///< of a ckpt: of the demo Transformer, which makes a step before each save
  std::string operation = "save";  ///< save | load, of a checkpoint that the same client made before
  int64_t repeats = 4;             ///< that are measured
  int64_t files_per_rank = 1;
  std::string prefix = "default";  ///< of the files of a dcp: default | binary | hex | names with commas, in turn
  int64_t prefix_epoch = -1;       ///< behind it; -1: none
  int64_t streams = 0;             ///< transfers at a time with a bucket; 0: as many as the client chooses
  bool sync_files = true;          ///< on disks a save ends when its files, and their folder, are written through
  bool clear_cache = false;        ///< before each load the page cache is told to drop the checkpoint
  bool keeps_last = false;         ///< the last checkpoint stays where it is

  /// Of ranks without data, which one process stands for: nothing is sent, and their times follow from what a store
  /// and its network allow (checkpoint/dcp/transfer_model.h). 0: there are number_ranks real ones.
  int64_t modelled_ranks = 0;
  int64_t ranks_per_machine = 8;
  double read_seconds = 0;  ///< until the first byte of an answer, median; likewise one in a hundred
  double slow_read_seconds = 0;
  double write_seconds = 0;
  double slow_write_seconds = 0;
  double connection_bytes_per_s = 0;  ///< 0 here and below: no limit
  double machine_bytes_per_s = 0;
  double prefix_reads_per_s = 0;
  double prefix_writes_per_s = 0;
};

/// What decides whether a plan can be carried out apart from its place. One line.
Status CheckCheckpointPlan(const CheckpointPlan& plan);

/// A tensor of CheckpointPlan::tensors.
struct PlannedTensor {
  std::string name;
  std::vector<int64_t> shape;
};
/// InvalidArgument for a text that is none.
Result<PlannedTensor> ParsePlannedTensor(const std::string& text);

/// JSON both ways, with "kind": "checkpoint". Reading refuses an unknown key and a newer schema by name; it does not
/// check values.
nlohmann::json ToJson(const CheckpointPlan& plan);
Result<CheckpointPlan> CheckpointPlanFromJson(const nlohmann::json& json);

}  // namespace assay::job
