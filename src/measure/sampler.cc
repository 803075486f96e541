#include "measure/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "measure/sample_collector.h"

namespace assay::measure {
namespace {

using Clock = std::chrono::steady_clock;

// Readings whose cost grows with the machine or the number of threads are made this often.
constexpr double kSlowHz = 2;

std::vector<int> GpusToSample(const SamplerOptions& options) {
  if (options.nvml == nullptr) {
    return {};
  }
  return options.gpus ? *options.gpus : VisibleGpus(options.nvml->gpus());
}

}  // namespace

/// The thread and what it shares. The collector belongs to the thread from the constructor's end until Finish.
class Sampler::Worker {
 public:
  Worker(const std::vector<pid_t>& pids, const SamplerOptions& options)
      : period_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / options.hz))),
        slow_every_(std::max<int64_t>(1, std::llround(options.hz / kSlowHz))),
        collector_(pids, options.nvml, GpusToSample(options)),
        begin_(Clock::now()) {
    if (CollectNow(true)) {
      thread_ = std::thread([this] { Run(); });
    }
  }

  SampleSeries Finish() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) {
      thread_.join();
    }
    return collector_.TakeSeries();
  }

  LiveSample latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
  }

 private:
  void Run() {
    Clock::time_point due = begin_;
    for (int64_t count = 1; true; ++count) {
      due = std::max(due + period_, Clock::now());  // a sample that is late is not made up for
      if (WaitUntil(due)) {
        CollectNow(true);
        return;
      }
      if (!CollectNow(count % slow_every_ == 0)) {
        return;
      }
    }
  }

  // True when it is time to stop.
  bool WaitUntil(Clock::time_point due) {
    std::unique_lock lock(mutex_);
    return wake_.wait_until(lock, due, [this] { return stop_; });
  }

  bool CollectNow(bool refresh_slow) {
    const double time_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (!collector_.Collect(time_s, refresh_slow)) {
      return false;
    }
    const SampleSeries& series = collector_.series();
    LiveSample sample{.time_s = time_s,
                      .cpu_tree_percent = series.cpu_tree_percent.back(),
                      .rss_tree_bytes = series.rss_tree_bytes.back()};
    for (const GpuSeries& gpu : series.gpus) {
      sample.gpu_memory_used_bytes += gpu.memory_used_bytes.back();
    }
    const std::lock_guard lock(mutex_);
    latest_ = sample;
    return true;
  }

  const Clock::duration period_;
  const int64_t slow_every_;
  SampleCollector collector_;
  const Clock::time_point begin_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  // guarded by mutex_
  LiveSample latest_;  // guarded by mutex_
  std::thread thread_;
};

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)) {}

Sampler::~Sampler() {
  Stop();
}

void Sampler::Start(const std::vector<pid_t>& pids) {
  Stop();
  worker_ = std::make_unique<Worker>(pids, options_);
}

SampleSeries Sampler::Stop() {
  if (worker_ == nullptr) {
    return {};
  }
  SampleSeries series = worker_->Finish();
  worker_.reset();
  return series;
}

LiveSample Sampler::Latest() const {
  return worker_ != nullptr ? worker_->latest() : LiveSample{};
}

}  // namespace assay::measure
