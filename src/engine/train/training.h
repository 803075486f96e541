// A plan made ready on one rank: what a run needs of any kind of model.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/held_state.h"
#include "engine/comm/rank_environment.h"
#include "engine/optim/loss_scaler.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/schedule.h"
#include "engine/shard/shard_engine.h"
#include "engine/train/event_writer.h"
#include "engine/train/loop.h"
#include "engine/train/stop.h"
#include "engine/train/strategy.h"
#include "engine/train/task.h"
#include "engine/train/updater.h"
#include "job/event.h"
#include "job/plan.h"

namespace assay::engine {

/// Not safe to use from two threads. All ranks make the same calls.
class Training {
 public:
  virtual ~Training() = default;

  virtual Task& task() = 0;
  virtual Updater& updater() = 0;
  virtual const Schedule& schedule() const = 0;
  virtual StopOptions stop_options() const = 0;
  virtual LoopOptions loop_options() const = 0;
  /// Of the ranks that share the work; null: there is one, without groups.
  virtual const StrategyGroups* groups() const = 0;

  /// What was loaded, times and peaks apart.
  virtual job::Loaded loaded() const = 0;
  /// How the ranks are arranged, where there are groups.
  virtual job::Topology topology() = 0;
  /// What spreads the training over the ranks, where there are groups; else null.
  virtual ShardEngine* engine() = 0;
  /// That a step keeps from forward to backward.
  virtual int64_t activation_bytes() = 0;
  /// The memory foretold, where that is known: `local_ranks` share this machine.
  virtual std::vector<job::MemoryLedger> foretold_memory(int64_t /*local_ranks*/) { return {}; }

  /// What this rank's data set of shards has cost so far; nothing where its data is in files.
  virtual std::optional<job::DataUse> data_use() { return std::nullopt; }

  /// What this rank holds of the training's state now.
  virtual std::vector<HeldState> held() = 0;
  /// After what is held was written from outside.
  virtual void publish_masters() = 0;
  /// Null: losses are not scaled.
  virtual LossScaler* loss_scaler() = 0;
  virtual OptimizerOptions optimizer_options() const = 0;

  /// Makes the plan's sample of text, where it has one, and writes it; `when` as job::Generated has it.
  virtual void write_sample(const char* /*when*/, EventWriter& /*events*/) {}

  /// Writes what was trained into the plan's output_dir, once for all ranks. Throws StatusError.
  virtual void save() = 0;
};

/// Joins the other ranks, loads model and data and spreads them as the plan says. `plan` and `events` outlive the
/// result. Throws StatusError for whatever is wrong with the plan's files, or when plan and files do not fit together;
/// CommError when the ranks do not find each other.
std::unique_ptr<Training> load_training(const job::TunePlan& plan, const RankEnvironment& environment,
                                        c10::Device device, EventWriter& events);
std::unique_ptr<Training> load_training(const job::VitPlan& plan, const RankEnvironment& environment,
                                        c10::Device device, EventWriter& events);

}  // namespace assay::engine
