// Rows of a data set of shards, read and tokenised ahead of the step that trains on them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "data/row_encoder.h"
#include "data/token_file.h"
#include "job/tune_plan.h"
#include "shards/stream/sample_stream.h"

namespace assay::engine {

/// The rows of all data ranks, step by step, in the order of the data set: every rank reads them all, and takes its own
/// (row_deal.h). An epoch whose rows no step divides ends with a smaller step. Which rows a step has follows from its
/// number alone. Not safe to use from two threads; one of its own reads and tokenises.
class StreamedRows {
 public:
  /// Reads ahead from step 1 on, of a plan that may go on from elsewhere when it is known. Throws StatusError when
  /// plan.data_uri is no data set, or another than plan.data_fingerprint.
  StreamedRows(const job::TunePlan& plan, int64_t rows_of_step);
  ~StreamedRows();
  StreamedRows(const StreamedRows&) = delete;
  StreamedRows& operator=(const StreamedRows&) = delete;

  int64_t rows() const { return rows_; }
  int64_t steps_per_epoch() const { return (rows_ + options_.order.batch - 1) / options_.order.batch; }
  /// Of the tokeniser; 1 without one.
  int64_t vocab_size() const { return vocab_size_; }
  /// Those of step `step` (from 1): at once of the step behind the last one, if they were read meanwhile; any other
  /// begins the reading anew. Throws StatusError naming the row that cannot be used, or the shard that is lost or
  /// damaged.
  std::vector<data::TokenRow> rows_of(int64_t step);

 private:
  using StepRows = Result<std::vector<data::TokenRow>>;

  void begin(int64_t step);
  void end();
  void read_ahead(shards::SampleStream& stream);
  StepRows read_step(shards::SampleStream& stream) const;
  Result<data::TokenRow> encode(const shards::StreamedSample& sample) const;

  std::atomic<bool> is_over_ = false;  // ends what is fetched
  std::vector<shards::StreamSource> sources_;
  shards::StreamOptions options_;
  int64_t rows_ = 0;
  int64_t vocab_size_ = 1;
  std::unique_ptr<const data::RowEncoder> encoder_;
  int64_t next_step_ = 0;  // 0: nothing is read

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StepRows> ready_;  // guarded by mutex_
  std::thread thread_;
};

/// The rules of the order of streamed rows, beside its seed.
std::string order_of_streamed(const job::TunePlan& plan);

/// Rows as long as a step's may become, of which memory is foretold: what streams in is not known before.
data::TokenFile longest_rows(const job::TunePlan& plan, int64_t vocab_size);

}  // namespace assay::engine
