#include "measure/utilization.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "measure/statistics.h"

namespace assay::measure {
namespace {

using Column = std::vector<double>;

// The samples that count: [first, size).
struct Window {
  size_t first = 0;
  size_t size = 0;
};

Window FindWindow(const Column& time_s, double skip_seconds) {
  const auto first = std::lower_bound(time_s.begin(), time_s.end(), skip_seconds);
  const auto index = static_cast<size_t>(first - time_s.begin());
  return {std::min(index, time_s.size() - 1), time_s.size()};
}

std::span<const double> Part(const Column& column, const Window& window) {
  return std::span(column).subspan(window.first);
}

// Of the values that were told; 0 when none was.
double MeanOfKnown(std::span<const double> values) {
  RunningMoments moments;
  for (const double value : values) {
    if (std::isfinite(value)) {
      moments.Add(value);
    }
  }
  return moments.mean();
}

double MaxOfKnown(std::span<const double> values) {
  double max = 0;
  for (const double value : values) {
    max = std::isfinite(value) ? std::max(max, value) : max;
  }
  return max;
}

// Mean of percentages that each belong to the interval before their sample: weighted by its length, so that it is the
// CPU time used over the time that passed.
double MeanOverIntervals(const Column& percent, const Column& time_s, const Window& window) {
  double weighted = 0;
  double seconds = 0;
  // An interval that began before the window does not count, unless there is no other.
  const size_t begin = std::max<size_t>(1, std::min(window.first + 1, window.size - 1));
  for (size_t i = begin; i < window.size; ++i) {
    const double length = time_s[i] - time_s[i - 1];
    weighted += percent[i] * length;
    seconds += length;
  }
  return seconds > 0 ? weighted / seconds : 0;
}

// Minimum, mean and maximum over GPUs of `reduce` of each GPU.
GpuSummary OverGpus(const std::vector<GpuSeries>& gpus, const std::function<double(const GpuSeries&)>& reduce) {
  if (gpus.empty()) {
    return {};
  }
  Column values;
  for (const GpuSeries& gpu : gpus) {
    values.push_back(reduce(gpu));
  }
  return {*std::min_element(values.begin(), values.end()), Mean(values),
          *std::max_element(values.begin(), values.end())};
}

Column MemoryPercent(const GpuSeries& gpu) {
  Column percent(gpu.memory_used_bytes.size());
  for (size_t i = 0; i < percent.size(); ++i) {
    percent[i] = 100 * gpu.memory_used_bytes[i] / gpu.memory_total_bytes[i];
  }
  return percent;
}

// From the driver's counter; where it has none, power integrated over time by the trapezoid rule.
double EnergyJoules(const GpuSeries& gpu, const Column& time_s, const Window& window) {
  const double counted = gpu.energy_joules.back() - gpu.energy_joules[window.first];
  if (std::isfinite(counted)) {
    return counted;
  }
  double joules = 0;
  for (size_t i = window.first + 1; i < window.size; ++i) {
    const double watts = 0.5 * (gpu.power_watts[i] + gpu.power_watts[i - 1]);
    joules += std::isfinite(watts) ? watts * (time_s[i] - time_s[i - 1]) : 0;
  }
  return joules;
}

void SummarizeGpus(const SampleSeries& series, const Window& window, Utilization& result) {
  const auto mean_of = [&](Column GpuSeries::* column) {
    return OverGpus(series.gpus, [&](const GpuSeries& gpu) { return MeanOfKnown(Part(gpu.*column, window)); });
  };
  result.gpu_compute_utilization = mean_of(&GpuSeries::utilization_percent);
  result.gpu_power_watts = mean_of(&GpuSeries::power_watts);
  result.gpu_power_percent = mean_of(&GpuSeries::power_percent);
  result.gpu_memory_utilization =
      OverGpus(series.gpus, [&](const GpuSeries& gpu) { return MeanOfKnown(Part(MemoryPercent(gpu), window)); });
  for (const GpuSeries& gpu : series.gpus) {
    result.gpu_memory_utilization_peak =
        std::max(result.gpu_memory_utilization_peak, MaxOfKnown(Part(MemoryPercent(gpu), window)));
    result.gpu_memory_peak_bytes =
        std::max(result.gpu_memory_peak_bytes, MaxOfKnown(Part(gpu.memory_used_bytes, window)));
    result.gpu_energy_joules += EnergyJoules(gpu, series.time_s, window);
  }
}

}  // namespace

Utilization Summarize(const SampleSeries& series, double skip_seconds) {
  Utilization result;
  if (series.size() == 0) {
    return result;
  }
  const Window window = FindWindow(series.time_s, skip_seconds);
  const auto over_intervals = [&](const Column& percent) { return MeanOverIntervals(percent, series.time_s, window); };
  result.samples = static_cast<int64_t>(window.size - window.first);
  result.cpu_compute_utilization = over_intervals(series.cpu_process_percent);
  result.cpu_compute_tree_utilization = over_intervals(series.cpu_tree_percent);
  result.cpu_compute_system_utilization = over_intervals(series.cpu_system_percent);
  result.cpu_memory_utilization = Mean(Part(series.memory_system_percent, window));
  result.cpu_memory_process_avg_bytes = Mean(Part(series.rss_process_bytes, window));
  result.cpu_memory_process_peak_bytes = series.rss_process_peak_bytes;
  result.cpu_memory_tree_peak_bytes = MaxOfKnown(Part(series.rss_tree_bytes, window));
  result.cpu_memory_cgroup_peak_bytes = MaxOfKnown(Part(series.cgroup_memory_bytes, window));
  result.disk_read_bytes = series.disk_read_bytes.back() - series.disk_read_bytes[window.first];
  result.disk_write_bytes = series.disk_write_bytes.back() - series.disk_write_bytes[window.first];
  SummarizeGpus(series, window, result);
  return result;
}

namespace {

struct Property {
  const char* name;
  double (*get)(const Utilization&);
};

constexpr Property kProperties[] = {
    {"cpu_compute_utilization", [](const Utilization& u) { return u.cpu_compute_utilization; }},
    {"cpu_compute_tree_utilization", [](const Utilization& u) { return u.cpu_compute_tree_utilization; }},
    {"cpu_compute_system_utilization", [](const Utilization& u) { return u.cpu_compute_system_utilization; }},
    {"cpu_memory_utilization", [](const Utilization& u) { return u.cpu_memory_utilization; }},
    {"cpu_memory_process_avg_bytes", [](const Utilization& u) { return u.cpu_memory_process_avg_bytes; }},
    {"cpu_memory_process_peak_bytes", [](const Utilization& u) { return u.cpu_memory_process_peak_bytes; }},
    {"cpu_memory_tree_peak_bytes", [](const Utilization& u) { return u.cpu_memory_tree_peak_bytes; }},
    {"cpu_memory_cgroup_peak_bytes", [](const Utilization& u) { return u.cpu_memory_cgroup_peak_bytes; }},
    {"disk_read_bytes", [](const Utilization& u) { return u.disk_read_bytes; }},
    {"disk_write_bytes", [](const Utilization& u) { return u.disk_write_bytes; }},
    {"gpu_compute_utilization_min", [](const Utilization& u) { return u.gpu_compute_utilization.min; }},
    {"gpu_compute_utilization_avg", [](const Utilization& u) { return u.gpu_compute_utilization.avg; }},
    {"gpu_compute_utilization_max", [](const Utilization& u) { return u.gpu_compute_utilization.max; }},
    {"gpu_memory_utilization_min", [](const Utilization& u) { return u.gpu_memory_utilization.min; }},
    {"gpu_memory_utilization_avg", [](const Utilization& u) { return u.gpu_memory_utilization.avg; }},
    {"gpu_memory_utilization_max", [](const Utilization& u) { return u.gpu_memory_utilization.max; }},
    {"gpu_memory_utilization_peak", [](const Utilization& u) { return u.gpu_memory_utilization_peak; }},
    {"gpu_memory_peak_bytes", [](const Utilization& u) { return u.gpu_memory_peak_bytes; }},
    {"gpu_power_watts_min", [](const Utilization& u) { return u.gpu_power_watts.min; }},
    {"gpu_power_watts_avg", [](const Utilization& u) { return u.gpu_power_watts.avg; }},
    {"gpu_power_watts_max", [](const Utilization& u) { return u.gpu_power_watts.max; }},
    {"gpu_power_percent_min", [](const Utilization& u) { return u.gpu_power_percent.min; }},
    {"gpu_power_percent_avg", [](const Utilization& u) { return u.gpu_power_percent.avg; }},
    {"gpu_power_percent_max", [](const Utilization& u) { return u.gpu_power_percent.max; }},
    {"gpu_energy_joules", [](const Utilization& u) { return u.gpu_energy_joules; }},
    {"utilization_samples", [](const Utilization& u) { return static_cast<double>(u.samples); }},
};

}  // namespace

std::map<std::string, double> ToProperties(const Utilization& utilization) {
  std::map<std::string, double> values;
  for (const Property& property : kProperties) {
    values[property.name] = property.get(utilization);
  }
  return values;
}

}  // namespace assay::measure
