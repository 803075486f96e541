// The options that say which points of a space are looked at, and in which order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/verb.h"
#include "experiment/point.h"
#include "explore/explore.h"
#include "report/virtual_properties.h"
#include "samplestore/measurement.h"
#include "samplestore/sample_store.h"

namespace assay::cli {

struct SearchOptions {
  std::string sampler = "sequential";
  std::vector<std::string> metrics;  ///< NAME, NAME:max or NAME:min
  int64_t budget = -1;
  int64_t patience = -1;
  uint64_t seed = 1;
};

/// --sampler, --metric, --budget, --patience, --seed. `options` outlives `app`.
void AddSearchOptions(CLI::App& app, SearchOptions& options);

/// A quantity that is looked for, and which way.
struct Goal {
  std::string target;  ///< target property
  std::string unit;
  bool maximize = true;
  experiment::Quantity quantity = experiment::Quantity::kOther;
  const report::Aggregation* aggregation = nullptr;  ///< of a virtual property: makes all runs of a point one value

  std::string Name() const;  ///< of the metric
};

/// The metrics as the experiments of `space` have them, TARGET or TARGET-mean and so on; without one their throughput.
/// kInvalidArgument names what there is.
Result<std::vector<Goal>> GoalsOf(const SearchOptions& options, const experiment::BoundSpace& space);

/// The best of each goal among points that were looked at.
class BestSeen {
 public:
  /// `store` has the runs of the points, and outlives this.
  BestSeen(std::vector<Goal> goals, samplestore::SampleStore& store)
      : goals_(std::move(goals)), best_(goals_.size()), store_(store) {}
  /// Without a look into the store: others wait for it meanwhile.
  void Add(const samplestore::Measurement& measurement);
  /// "best dataset_tokens_per_second: 1,234 tokens/s at ENTITY", a line for each goal that has one.
  std::string Text() const;

 private:
  struct Best {
    double value = 0;
    std::string entity_id;  ///< empty: none yet
  };
  /// The better one.
  void Keep(size_t goal, const Best& seen, Best& best) const;

  std::vector<Goal> goals_;
  std::vector<Best> best_;
  /// Where a goal has an aggregation, of each point what was seen last, without its series: more runs of it may make it
  /// worse.
  std::map<samplestore::MemoKey, samplestore::Measurement> latest_;
  samplestore::SampleStore& store_;
};

/// Sets the sampler and what it is told. `store` has the runs of the points, and outlives `explore`.
Status UseSearch(const SearchOptions& options, const experiment::BoundSpace& space, samplestore::SampleStore& store,
                 explore::ExploreOptions& explore);

}  // namespace assay::cli
