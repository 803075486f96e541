// Writes checkpoints of a training: every rank what it holds, as torch.distributed.checkpoint lays it out.
//
//   model.NAME                       a trainable parameter, as the optimiser has it
//   optimizer.state.NAME.exp_avg     exp_avg_sq or whatever torch calls what the optimiser keeps, step: of those that
//                                    were updated
//   optimizer.param_groups, lr_scheduler, loss_scaler, progress, run (training_state.h)
//
// That is a state dict of torch.distributed.checkpoint.state_dict: stock torch loads it, and so does any number of
// ranks in any strategy.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/dcp/save_plan.h"
#include "checkpoint/manage.h"
#include "checkpoint/save.h"
#include "engine/checkpoint/held_state.h"
#include "engine/checkpoint/run_folder.h"
#include "engine/checkpoint/snapshot.h"
#include "engine/checkpoint/training_state.h"

namespace assay::engine {

struct TrainingSaverOptions {
  bool copies = false;                      ///< the state, which the training may change while that is written
  std::set<int64_t> replaced_steps = {};    ///< whose checkpoints are damaged, here or in the second place
  const RunFolder* second = nullptr;        ///< where each checkpoint goes next, from the folder; null: nowhere
  checkpoint::SavePlanOptions layout = {};  ///< how ranks lay out their files
  checkpoint::RetentionOptions keep = {};   ///< after each save; nothing to keep: all are kept
};

struct SavedTraining {
  int64_t step = 0;
  std::string uri;
  // On the first rank:
  int64_t bytes = 0;  ///< of all files
  /// From the begin of the save until it was published in the folder, and in the second place; 0: there is none.
  double seconds = 0;
  double second_seconds = 0;
};

/// One save at a time, in stages: each is work on every rank beside the training, and ends where the ranks meet. Not
/// safe to use from two threads. All ranks make the same calls.
class TrainingSaver {
 public:
  /// `folder`, what `ranks` names and the second place outlive it.
  TrainingSaver(const RunFolder& folder, CheckpointRanks ranks, TrainingSaverOptions options);
  ~TrainingSaver();

  /// Where the state is copied: plans the saves that follow, of what all ranks will hold once every parameter was
  /// updated, and takes the memory for their copies. Left out, the first save does. None may be under way. Throws
  /// CommError.
  void prepare(const TrainingState& state, std::vector<HeldState> held);
  /// Begins to save what all ranks hold, as the state of step `state.position.counted`. Its tensors must not change
  /// until publish() returned or, where the state is copied, await_copy(). No save may be under way. Throws CommError.
  void begin(const TrainingState& state, const std::vector<HeldState>& held);
  /// Begins to copy the checkpoint of `step`, which stands in the folder, to the second place.
  void begin_copy(int64_t step);
  bool is_under_way() const { return under_way_ != nullptr; }
  /// Whether the state is still being copied: it is read, and must not change.
  bool is_copying() const { return !snapshot_.is_complete(); }
  /// Helps to copy it, and returns when that is done. Meets nobody.
  void await_copy() { snapshot_.complete(); }

  /// Meets the other ranks once; a save that is over for all is returned. After an error, which all ranks throw, none
  /// is under way, nothing of it is left unless it was published, and what stood before stands; where a rank was lost
  /// as all told what they had written, files may be left that no checkpoint names. Throws StatusError or CommError.
  std::optional<SavedTraining> advance();
  /// Waits until the save under way is published in the folder: its tensors may change then. Throws likewise.
  void publish();
  /// Waits until it is over. Throws likewise.
  SavedTraining finish();

 private:
  class UnderWay;

  /// The values that the first rank writes.
  std::vector<checkpoint::Leaf> plan(const TrainingState& state, const std::vector<HeldState>& held);
  void bring_on(std::chrono::milliseconds pause);

  const RunFolder& folder_;
  CheckpointRanks ranks_;
  TrainingSaverOptions options_;
  Snapshot snapshot_;
  std::vector<std::string> planned_for_;  ///< what each rank held when the plan was made
  std::vector<checkpoint::RankHoldings> holdings_;
  checkpoint::SavePlan plan_;
  bool is_waited_for_ = false;  ///< stages that begin now
  std::unique_ptr<UnderWay> under_way_;
};

}  // namespace assay::engine
