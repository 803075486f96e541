// Takes samples, one at a time; the sampler's thread says when.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/nvml.h"
#include "measure/proc_file.h"
#include "measure/process_tree.h"
#include "measure/sample_series.h"
#include "measure/standstill.h"

namespace assay::measure {

/// Collect() is called by one thread, but for the first time, which may be another's.
class SampleCollector {
 public:
  /// What `pids` and their descendants use counts together, and what `pids` read and write; what is told of one process
  /// is of the first, but for the wait for a processor, which is that of the one that waited longest. `nvml` may be
  /// null, then `gpus` (NVML indices) is ignored.
  SampleCollector(const std::vector<pid_t>& pids, std::shared_ptr<const Nvml> nvml, std::vector<int> gpus);

  /// Appends a sample, at `time_s` after the start. False, and nothing is appended, once the process has ended. With
  /// `refresh_slow` the readings that cost most are made too; without, their columns repeat the last value.
  bool Collect(double time_s, bool refresh_slow);

  const SampleSeries& series() const { return series_; }
  SampleSeries TakeSeries() { return std::move(series_); }

 private:
  void CollectProcess(double interval_s);
  void CollectWaits();
  /// What this thread has waited for a processor since it was asked before.
  double TakeOwnWait();
  void CollectDisk();
  void CollectSystem(bool refresh_slow);
  void CollectGpus();

  /// What a root read and wrote since the first sample.
  struct DiskUse {
    explicit DiskUse(const std::string& path) : io(path) {}
    ProcFile io;
    double first_read_bytes = 0;
    double first_write_bytes = 0;
    double read_bytes = 0;
    double write_bytes = 0;
  };

  ProcessTree tree_;
  ProcFile status_;
  std::optional<ProcFile> own_schedstat_;  ///< of the thread that collects all samples but the first
  double own_wait_seconds_ = 0;
  std::vector<ProcFile> schedstats_;  ///< of each root
  std::vector<DiskUse> disks_;        ///< of each root
  ProcFile meminfo_;
  ProcFile system_stat_;
  ProcFile cgroup_memory_;
  std::shared_ptr<const Nvml> nvml_;

  Standstill standstill_;
  ProcessUse last_root_;
  ProcessUse last_tree_;
  double last_busy_ticks_ = 0;
  double last_total_ticks_ = 0;
  std::vector<double> first_energy_joules_;
  SampleSeries series_;
};

}  // namespace assay::measure
