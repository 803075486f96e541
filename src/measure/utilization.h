// Reduces a series of samples to the utilisation properties of a measurement.
#pragma once

#include <map>
#include <string>

#include "measure/sample_series.h"

namespace assay::measure {

/// Minimum, mean and maximum over GPUs of each GPU's mean over time.
struct GpuSummary {
  double min = 0;
  double avg = 0;
  double max = 0;
};

/// See docs/measuring.md for which of these follow the reference's definition and which are ours. GPU values are 0
/// without a GPU.
struct Utilization {
  double cpu_compute_utilization = 0;         ///< %, 100 = one core; the process without its children
  double cpu_compute_tree_utilization = 0;    ///< %, with its descendants
  double cpu_compute_system_utilization = 0;  ///< %, 100 = every core of the machine
  double cpu_memory_utilization = 0;          ///< %, mean of the whole machine's used memory
  double cpu_memory_process_avg_bytes = 0;
  double cpu_memory_process_peak_bytes = 0;  ///< kernel's high-water mark of the whole run; skip_seconds does not apply
  double cpu_memory_tree_peak_bytes = 0;     ///< largest sample
  double cpu_memory_cgroup_peak_bytes = 0;   ///< largest sample
  double disk_read_bytes = 0;
  double disk_write_bytes = 0;
  GpuSummary gpu_compute_utilization;      ///< %
  GpuSummary gpu_memory_utilization;       ///< % of the device's memory
  double gpu_memory_utilization_peak = 0;  ///< %, largest sample of any GPU
  double gpu_memory_peak_bytes = 0;        ///< largest sample of any GPU
  GpuSummary gpu_power_watts;
  GpuSummary gpu_power_percent;  ///< of the enforced limit
  double gpu_energy_joules = 0;  ///< sum over GPUs, from the driver's counter; from power over time without one
  int64_t samples = 0;           ///< that were used
};

/// Leaves out samples before `skip_seconds` (warm-up); keeps the last one when that would leave none.
Utilization Summarize(const SampleSeries& series, double skip_seconds = 0);

/// The values by their property names: "cpu_compute_utilization", ..., "gpu_compute_utilization_min", ...
std::map<std::string, double> ToProperties(const Utilization& utilization);

}  // namespace assay::measure
