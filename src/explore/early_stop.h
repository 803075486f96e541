// Runs of an operation that end before their time, since others were ahead of them at the same step.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "explore/measure_point.h"
#include "explore/search/stopping_rule.h"
#include "job/event.h"
#include "job/run_record.h"
#include "samplestore/measurement.h"

namespace assay::explore {

/// What a run shows while it goes on.
enum class Shown {
  kLoss,  ///< of each step
  kRate,  ///< tokens, or images, a second over all steps so far but the first, in which a worker warms up
};

struct EarlyStopOptions {
  StoppingRule rule = {};
  Shown shown = Shown::kRate;
};

/// The options in words, which measurements that ended early keep: "median of the loss from step 5".
std::string Describe(const EarlyStopOptions& options);

/// Adds what the steps of a run showed, under the names that a run which was measured whole has it by.
void AddStepSeries(const job::RunRecord& record, std::map<std::string, std::vector<double>>& series);

/// Follows the runs that an operation makes of one experiment. From any thread.
class EarlyStop {
 public:
  explicit EarlyStop(EarlyStopOptions options) : options_(options) {}

  /// Point `index` has made a step. Not empty: its run ends now, and why.
  std::string OnStep(int64_t index, const job::Step& step);
  /// What became of point `index`: those that were measured, whole or in part, are what others are held against. Of a
  /// run that is replayed only its series is known: where that does not tell what is compared, it does not count.
  void OnDone(int64_t index, const PointResult& result);

 private:
  struct Running {
    int64_t last_step = 0;
    double seconds = 0;  ///< of all steps but the first
    double amount = 0;   ///< tokens or images of those
    OtherRun seen;       ///< as the runs of other points see it
  };

  void Take(Running& run, int64_t step, double loss, double amount, double seconds) const;
  Curve CurveOf(const samplestore::Measurement& measurement) const;
  std::vector<const OtherRun*> OthersThan(int64_t index) const;

  const EarlyStopOptions options_;
  std::mutex mutex_;
  std::map<int64_t, Running> running_;  ///< by index in the space
  std::vector<OtherRun> ended_;
};

}  // namespace assay::explore
