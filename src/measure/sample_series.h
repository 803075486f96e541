// What the sampler saw, as columns over time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay::measure {

/// Columns of one GPU, as long as SampleSeries::time_s. NaN where the driver does not tell.
struct GpuSeries {
  int index = 0;
  std::vector<double> utilization_percent;
  std::vector<double> memory_used_bytes;
  std::vector<double> memory_total_bytes;
  std::vector<double> power_watts;
  std::vector<double> power_percent;  ///< of the enforced limit
  std::vector<double> energy_joules;  ///< since the first sample
};

/// Columns of equal length. A percentage of CPU time belongs to the interval that ends at its sample; the first sample
/// has no interval and holds 0. 100 % is one core.
struct SampleSeries {
  std::vector<double> time_s;  ///< since the sampler was started; ascending
  std::vector<double> cpu_process_percent;
  std::vector<double> cpu_tree_percent;    ///< of the process and all its descendants
  std::vector<double> cpu_system_percent;  ///< of all cores of the machine together: 100 is all of them
  std::vector<double> rss_process_bytes;
  std::vector<double> rss_tree_bytes;         ///< sum; pages that several processes share count in each
  std::vector<double> memory_system_percent;  ///< 100 x (total - available) / total of the machine
  std::vector<double> cgroup_memory_bytes;    ///< 0 without a memory cgroup
  std::vector<double> disk_read_bytes;        ///< by the process from storage, since the first sample
  std::vector<double> disk_write_bytes;       ///< by the process to storage, since the first sample
  std::vector<GpuSeries> gpus;
  double stood_still_seconds = 0;     ///< that a watched process was stopped, or the sampler itself did not run
  double cpu_wait_seconds = 0;        ///< that a process's main thread was ready, but had no processor: the longest
  double rss_process_peak_bytes = 0;  ///< the kernel's own high-water mark (VmHWM), not a maximum of samples

  size_t size() const { return time_s.size(); }
};

/// The columns by name ("time_s", "cpu_tree_percent", ..., "gpu0.power_watts", ...), all of one length; the peak is a
/// constant column. FromColumns is its inverse; columns that are missing read as zeros.
std::map<std::string, std::vector<double>> ToColumns(const SampleSeries& series);
SampleSeries FromColumns(const std::map<std::string, std::vector<double>>& columns);

}  // namespace assay::measure
