// The checkpoints of a run: the one that it goes on from, and those that it writes every few steps.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/checkpoint/run_folder.h"
#include "engine/checkpoint/training_saver.h"
#include "engine/train/event_writer.h"
#include "engine/train/phase_meter.h"
#include "engine/train/termination.h"
#include "engine/train/training.h"

namespace assay::engine {

/// Of TrainingPlan::checkpoint_writer.
inline constexpr char kWriterThatCopies[] = "async";

/// What a run brings to its checkpoints; everything outlives them.
struct RunCheckpointParts {
  const job::TrainingPlan& plan;
  std::map<std::string, std::string> settings;  ///< settings_of() the plan
  Training& training;
  Communicator* world;  ///< null: one rank
  bool is_one_machine;  ///< all ranks are on it
  c10::Device device;
  PhaseMeter& meter;
  EventWriter& events;
  TerminationWatcher& termination;
  std::shared_ptr<storage::RequestObserver> observer;  ///< of requests at output_dir; null: none
};

/// All ranks make the same calls. Not safe to use from two threads.
class RunCheckpoints {
 public:
  /// Whether the plan asks for any.
  static bool wanted(const job::TrainingPlan& plan) { return plan.save_every > 0 || plan.resume; }

  /// Nothing is sent. Throws StatusError for places that cannot be any.
  explicit RunCheckpoints(RunCheckpointParts parts);

  /// Takes the state of the last checkpoint that stands whole in a folder of the run, where the plan goes on from one
  /// and there is one. Throws StatusError where there is one and the plan is of a new run, or where it is none that
  /// this run can go on from.
  TrainingPosition begin();

  /// Called before each update of what is trained: a copy of that may still be under way.
  void await_copy();
  /// Saves where it is time, and brings on what is being saved. After the last step all is saved.
  void step_over(const StepOver& over);

  /// Waits until what is being saved is, where it is to be in the end. Throws StatusError and CommError.
  void finish();
  /// The same after the training failed on all ranks alike: what cannot be saved is lost, and stderr says why.
  void finish_after_failure();

 private:
  CheckpointRanks ranks();
  const RunFolder& first_folder() const { return local_ ? *local_ : output_; }
  std::vector<const RunFolder*> folders() const;

  /// A checkpoint of the run that is whole, as far as names and sizes tell.
  struct Standing {
    int64_t step = 0;
    bool is_local = false;
  };
  const RunFolder& folder_of(const Standing& standing) const { return standing.is_local ? *local_ : output_; }
  /// Those that stand, the last first, and adds to `damaged_steps`. All ranks get the same.
  std::vector<Standing> look(std::set<int64_t>& damaged_steps);
  /// Takes the state of the first of `standing` whose bytes are whole. Those before it are erased, and their steps
  /// added to `damaged_steps`.
  TrainingPosition resume_from(std::vector<Standing>& standing, std::set<int64_t>& damaged_steps);
  /// Removes what retention would have, had the run not been killed before it did.
  void remove_old(const std::set<int64_t>& damaged_steps);
  /// Whether bytes of what could not be read for `failure` are damaged. All ranks get the same.
  bool is_damaged(const checkpoint::Place& place, const Status& failure);
  TrainingPosition resume(const checkpoint::Place& place);
  /// Whether the training goes on while its state is written.
  bool copies() const { return parts_.plan.checkpoint_writer == kWriterThatCopies; }
  TrainingState state_at(const StepOver& over) const;
  void save(const StepOver& over);
  void report(const SavedTraining& saved);

  RunCheckpointParts parts_;
  std::atomic<bool> is_given_up_ = false;  ///< ends what is sent to stores
  RunFolder output_;
  std::optional<RunFolder> local_;
  std::optional<TrainingSaver> saver_;  ///< from begin() on
  double stall_seconds_ = 0;            ///< for the save under way
};

}  // namespace assay::engine
