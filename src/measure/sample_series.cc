#include "measure/sample_series.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace assay::measure {
namespace {

constexpr char kPeak[] = "rss_process_peak_bytes";

// The one list of the columns: `visit(name, column)` for each.
template <typename Series, typename Visitor>
void VisitColumns(Series& series, const Visitor& visit) {
  visit("time_s", series.time_s);
  visit("cpu_process_percent", series.cpu_process_percent);
  visit("cpu_tree_percent", series.cpu_tree_percent);
  visit("cpu_system_percent", series.cpu_system_percent);
  visit("rss_process_bytes", series.rss_process_bytes);
  visit("rss_tree_bytes", series.rss_tree_bytes);
  visit("memory_system_percent", series.memory_system_percent);
  visit("cgroup_memory_bytes", series.cgroup_memory_bytes);
  visit("disk_read_bytes", series.disk_read_bytes);
  visit("disk_write_bytes", series.disk_write_bytes);
}

template <typename Gpu, typename Visitor>
void VisitGpuColumns(Gpu& gpu, const Visitor& visit) {
  const std::string prefix = fmt::format("gpu{}.", gpu.index);
  visit(prefix + "utilization_percent", gpu.utilization_percent);
  visit(prefix + "memory_used_bytes", gpu.memory_used_bytes);
  visit(prefix + "memory_total_bytes", gpu.memory_total_bytes);
  visit(prefix + "power_watts", gpu.power_watts);
  visit(prefix + "power_percent", gpu.power_percent);
  visit(prefix + "energy_joules", gpu.energy_joules);
}

}  // namespace

std::map<std::string, std::vector<double>> ToColumns(const SampleSeries& series) {
  std::map<std::string, std::vector<double>> columns;
  const auto add = [&](const std::string& name, const std::vector<double>& column) { columns[name] = column; };
  VisitColumns(series, add);
  for (const GpuSeries& gpu : series.gpus) {
    VisitGpuColumns(gpu, add);
  }
  columns[kPeak].assign(series.size(), series.rss_process_peak_bytes);
  return columns;
}

SampleSeries FromColumns(const std::map<std::string, std::vector<double>>& columns) {
  SampleSeries series;
  const auto time = columns.find("time_s");
  const size_t length = time == columns.end() ? 0 : time->second.size();
  const auto take = [&](const std::string& name, std::vector<double>& column) {
    const auto found = columns.find(name);
    if (found != columns.end()) {
      column = found->second;
    }
    column.resize(length);
  };
  VisitColumns(series, take);
  for (const auto& [name, column] : columns) {
    int index = 0;
    int matched = 0;
    if (std::sscanf(name.c_str(), "gpu%d.utilization_percent%n", &index, &matched) == 1 &&
        static_cast<size_t>(matched) == name.size()) {
      GpuSeries& gpu = series.gpus.emplace_back();
      gpu.index = index;
      VisitGpuColumns(gpu, take);
    }
  }
  std::vector<double> peak;
  take(kPeak, peak);
  series.rss_process_peak_bytes = peak.empty() ? 0 : peak.back();
  return series;
}

}  // namespace assay::measure
