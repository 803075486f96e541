// One point, measured at most once: replay, claim, check, plan, run, measure, record.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "experiment/experiment.h"
#include "experiment/point.h"
#include "explore/compute_ceiling.h"
#include "explore/host_provenance.h"
#include "explore/reuse.h"
#include "job/event.h"
#include "job/plan.h"
#include "job/run_record.h"
#include "launch/launcher.h"
#include "samplestore/measurement.h"
#include "samplestore/sample_store.h"

namespace assay::explore {

/// Carries out a plan: a launcher's Run. The default is launch::RunWorker, this machine; tests put a function of their
/// own here.
using Runner = std::function<Result<job::RunRecord>(const job::Plan&, const launch::LaunchOptions&)>;

struct MeasureOptions {
  experiment::PlanContext context;  ///< empty folders: the user's cache, the project's share
  launch::LaunchOptions launch;
  Runner runner;                                   ///< empty: launch::RunWorker
  CeilingsFunction ceilings;                       ///< empty: launch::MeasureProductCeilings
  std::function<void(std::string_view)> on_phase;  ///< "preparing", "running", "measuring": for a status line
  std::string operation_uid;                       ///< the operation to which the result belongs; empty: none
  int points_at_once = 1;                          ///< that share the machine
  Reuse reuse = Reuse::kCommit;                    ///< which of the store's outcomes hold here
  std::shared_ptr<const Host> host;                ///< empty: looked at for each point
  bool replay = true;  ///< false: measure again though the store has it (a further measurement is added)
  int64_t wanted = 1;  ///< valid measurements that the point shall have, before the store's last is replayed
  /// Of repeats that may end early, by what they show (RepeatUntil): how many there may be. 0: these may not.
  int64_t repeats_at_most = 0;
  /// Asked after each step of a run that is measured once (Runs::count); not empty: why it ends now. What is known by
  /// then is kept as ended early.
  std::function<std::string(const job::Step&)> ends_early = {};
  std::string early_rule = {};  ///< that ends runs early: what it ended before is replayed; empty: none
  double lease_seconds = 30;    ///< of the claim; renewed while the point is measured
};

/// How a point's measurement came about.
enum class Source {
  kMeasured,  ///< run now (or judged invalid, or failed, now)
  kReplayed,  ///< the store had it; nothing was launched
  kBusy,      ///< somebody else is measuring it; `measurement` is empty
  kRefused,   ///< run now, but the claim passed to somebody else meanwhile: the measurement is in the store's log
};

struct PointResult {
  Source source = Source::kMeasured;
  samplestore::Measurement measurement;
  /// Set when the failure is the user's mistake (a missing model folder, a bad data file): its exit code is 2.
  Status cause;
  bool machine_lost = false;  ///< it failed because a machine was lost where it ran: elsewhere it may not
};

/// What holds here of all that `options.reuse` compares.
samplestore::Facts FactsHere(const experiment::BoundPoint& point, const MeasureOptions& options);

/// Whether `options.early_rule` ended a run of `point` here before.
Result<bool> WasEndedEarly(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                           const MeasureOptions& options);

/// The store's measurement of `point`, if it has `options.wanted` that hold here; nothing otherwise.
Result<std::optional<PointResult>> ReplayPoint(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                                               const MeasureOptions& options);

/// Measures `point`, or replays it. What goes wrong with the point itself is a measurement with outcome failed or
/// invalid, recorded in the store; an error means that the store failed, that no worker can be started (kNotFound), or
/// that the user pressed Ctrl-C (kAborted: nothing is recorded for this point).
Result<PointResult> MeasurePoint(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                                 const MeasureOptions& options);

}  // namespace assay::explore
