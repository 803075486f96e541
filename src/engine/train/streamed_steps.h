// The samples of a training's steps, read and made ready ahead of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/thread_cpu.h"
#include "engine/model/status_error.h"
#include "engine/train/read_ahead.h"
#include "engine/train/streamed_source.h"

namespace assay::engine {

/// Which samples a step has follows from its number alone. Not safe to use from two threads; one of its own reads, and
/// makes a `Sample` of each.
template <typename Sample>
class StreamedSteps : public ReadAhead {
 public:
  using Make = std::function<Result<Sample>(const shards::StreamedSample&)>;

  StreamedSteps(StreamedSource source, Make make) : source_(std::move(source)), make_(std::move(make)) {}
  ~StreamedSteps() override { end(); }
  StreamedSteps(const StreamedSteps&) = delete;
  StreamedSteps& operator=(const StreamedSteps&) = delete;

  const StreamedSource& source() const { return source_; }
  /// Reads ahead from `step` (from 1) on, before it is asked for. Throws StatusError.
  void begin(int64_t step);
  bool is_ready(int64_t step) const override;
  void await(int64_t step) override;
  /// This rank's samples of step `step`: at once of the step behind the last one, if they were read meanwhile; any
  /// other begins the reading anew. Throws StatusError naming the sample that cannot be used, or the shard that is lost
  /// or damaged.
  std::vector<Sample> of_step(int64_t step);
  /// So far.
  job::DataUse use() const;

 private:
  using StepSamples = Result<std::vector<Sample>>;
  /// Steps that are ready and not asked for yet.
  static constexpr size_t kStepsAhead = 8;

  void end();
  void read_ahead(shards::SampleStream& stream, int64_t step);
  StepSamples read_step(shards::SampleStream& stream) const;
  void note_use(const shards::StreamCounters& counters, double cpu_seconds);

  StreamedSource source_;
  const Make make_;
  int64_t next_step_ = 0;  // 0: nothing is read

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StepSamples> ready_;  // guarded by mutex_
  bool is_over_ = false;           // guarded by mutex_
  job::DataUse use_;               // of streams that ended, and of this one up to its last step; guarded by mutex_
  std::thread thread_;
};

template <typename Sample>
void StreamedSteps<Sample>::begin(int64_t step) {
  end();
  std::unique_ptr<shards::SampleStream> stream = source_.open_at(step);
  next_step_ = step;
  thread_ = std::thread([this, step, stream = std::move(stream)] { read_ahead(*stream, step); });
}

template <typename Sample>
void StreamedSteps<Sample>::end() {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  source_.cancel(true);
  changed_.notify_all();
  thread_.join();
  source_.cancel(false);
  is_over_ = false;
  ready_.clear();
}

template <typename Sample>
bool StreamedSteps<Sample>::is_ready(int64_t step) const {
  const std::lock_guard lock(mutex_);
  return step == next_step_ && !ready_.empty();
}

template <typename Sample>
void StreamedSteps<Sample>::await(int64_t step) {
  if (step != next_step_) {
    begin(step);
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty(); });
}

template <typename Sample>
std::vector<Sample> StreamedSteps<Sample>::of_step(int64_t step) {
  await(step);
  const std::lock_guard lock(mutex_);
  throw_if_error(ready_.front().status());
  std::vector<Sample> samples = *std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  ++next_step_;
  return samples;
}

template <typename Sample>
void StreamedSteps<Sample>::read_ahead(shards::SampleStream& stream, int64_t step) {
  shards::StreamCounters counters;
  double cpu_seconds = ThreadCpuSeconds();
  for (bool more = true; more; ++step) {
    StepSamples samples = read_step(stream);
    if (samples.ok() && source_.share().drops_rest && step % source_.steps_per_epoch() == 0) {
      if (const Status next = stream.NextEpoch(); !next.ok()) {
        samples = next;
      }
    }
    more = samples.ok();
    const shards::StreamCounters now = stream.counters();
    const double now_cpu_seconds = ThreadCpuSeconds();
    std::unique_lock lock(mutex_);
    note_use(shards::Since(now, counters), now_cpu_seconds - cpu_seconds);
    counters = now;
    cpu_seconds = now_cpu_seconds;
    changed_.wait(lock, [this] { return is_over_ || ready_.size() < kStepsAhead; });
    if (is_over_) {
      return;
    }
    ready_.push_back(std::move(samples));
    changed_.notify_all();
  }
}

template <typename Sample>
typename StreamedSteps<Sample>::StepSamples StreamedSteps<Sample>::read_step(shards::SampleStream& stream) const {
  std::vector<Sample> samples;
  while (static_cast<int64_t>(samples.size()) < source_.share().batch) {
    ASSAY_ASSIGN_OR_RETURN(const auto next, stream.Next());
    if (next) {
      ASSAY_ASSIGN_OR_RETURN(Sample sample, make_(*next));
      samples.push_back(std::move(sample));
      continue;
    }
    ASSAY_RETURN_IF_ERROR(stream.NextEpoch());
    if (!samples.empty()) {
      break;
    }
  }
  return samples;
}

template <typename Sample>
void StreamedSteps<Sample>::note_use(const shards::StreamCounters& counters, double cpu_seconds) {
  use_.samples += counters.samples;
  use_.used_bytes += counters.used_bytes;
  use_.fetched_shards += counters.fetched_shards;
  use_.cached_shards += counters.cached_shards;
  use_.unkept_shards += counters.unkept_shards;
  use_.cpu_seconds += counters.cpu_seconds + cpu_seconds;
}

template <typename Sample>
job::DataUse StreamedSteps<Sample>::use() const {
  job::DataUse use = source_.use();
  const std::lock_guard lock(mutex_);
  use.samples = use_.samples;
  use.used_bytes = use_.used_bytes;
  use.fetched_shards = use_.fetched_shards;
  use.cached_shards = use_.cached_shards;
  use.unkept_shards = use_.unkept_shards;
  use.cpu_seconds = use_.cpu_seconds;
  return use;
}

}  // namespace assay::engine
