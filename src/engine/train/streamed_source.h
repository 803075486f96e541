// A data set of shards that a training reads while it goes on: opened, counted, and streamed from any step on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "job/parallel_event.h"
#include "job/training_plan.h"
#include "shards/stream/sample_stream.h"
#include "storage/decorator/counting_store.h"

namespace assay::engine {

/// What a rank has of each step's samples.
struct StreamShare {
  int64_t batch = 1;  ///< samples of this rank a step
  int64_t rank = 0;   ///< of `ranks` that have different ones
  int64_t ranks = 1;
  bool drops_rest = false;  ///< of an epoch what fills no step; else it makes a smaller one
};

/// Immutable after it was made, but for cancel(). Safe from several threads.
class StreamedSource {
 public:
  /// Throws StatusError when plan.data_uri is no data set, or another than plan.data_fingerprint.
  StreamedSource(const job::TrainingPlan& plan, const StreamShare& share);

  const StreamShare& share() const { return share_; }
  int64_t samples() const { return sources_.front().dataset.index.samples(); }
  int64_t steps_per_epoch() const;
  /// From step `step` (from 1) on. Throws StatusError.
  std::unique_ptr<shards::SampleStream> open_at(int64_t step) const;
  /// Ends what is fetched, or lets it go on.
  void cancel(bool is_over) { *is_over_ = is_over; }
  /// What was asked of the store so far, and came of it; the other fields are none of a source's.
  job::DataUse use() const;

 private:
  std::shared_ptr<std::atomic<bool>> is_over_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<storage::StoreCounters> counters_;  ///< null: of local files, which are mapped
  std::vector<shards::StreamSource> sources_;
  shards::StreamOptions options_;
  StreamShare share_;
};

/// The rules of the order of streamed samples, beside its seed.
std::string order_of_streamed(const job::TrainingPlan& plan);

}  // namespace assay::engine
