// Samples what running process trees and their machine use.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <vector>

#include "measure/nvml.h"
#include "measure/sample_series.h"

namespace assay::measure {

struct SamplerOptions {
  double hz = 10;
  std::shared_ptr<const Nvml> nvml;      ///< null: GPUs are not sampled
  std::optional<std::vector<int>> gpus;  ///< NVML indices; nothing: VisibleGpus()
};

/// The newest sample, for a progress line.
struct LiveSample {
  double time_s = 0;
  double cpu_tree_percent = 0;
  double rss_tree_bytes = 0;
  double gpu_memory_used_bytes = 0;  ///< sum over GPUs
};

/// A thread that samples one process, or the ranks of one run, from Start to Stop. These functions belong to one thread
/// of the caller's. Nothing here fails: the series of a process that vanishes ends with its last sample alive.
class Sampler {
 public:
  explicit Sampler(SamplerOptions options = {});
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  ~Sampler();  ///< stops

  /// Takes the first sample before it returns. The trees of all `pids` count together (memory that several share is
  /// counted for each); series of a single process, and the end of sampling, are the first one's.
  void Start(const std::vector<pid_t>& pids);
  void Start(pid_t pid) { Start(std::vector<pid_t>{pid}); }
  /// Takes a last sample, ends the thread and gives what was seen; empty when not started.
  SampleSeries Stop();
  LiveSample Latest() const;

 private:
  class Worker;
  SamplerOptions options_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace assay::measure
