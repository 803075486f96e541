#include "measure/sample_collector.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "measure/cgroup.h"

namespace assay::measure {
namespace {

// The first line of /proc/stat: "cpu  user nice system idle iowait irq softirq steal ...", in ticks.
struct SystemTicks {
  double busy = 0;
  double total = 0;
};

SystemTicks ParseSystemTicks(std::string_view text) {
  std::array<double, 8> ticks = {};
  const char* at = text.data() + std::min<size_t>(text.size(), 4);
  const char* end = text.data() + text.size();
  for (double& value : ticks) {
    while (at < end && *at == ' ') {
      ++at;
    }
    at = std::from_chars(at, end, value).ptr;
  }
  SystemTicks sum;
  for (const double value : ticks) {
    sum.total += value;
  }
  sum.busy = sum.total - ticks[3] - ticks[4];
  return sum;
}

double PercentOf(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

double LastOr(const std::vector<double>& column, double otherwise) {
  return column.empty() ? otherwise : column.back();
}

std::string ProcPath(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

ProcFile OpenIfNamed(const std::string& path) {
  return path.empty() ? ProcFile() : ProcFile(path);
}

}  // namespace

SampleCollector::SampleCollector(const std::vector<pid_t>& pids, std::shared_ptr<const Nvml> nvml,
                                 std::vector<int> gpus)
    : tree_(pids),
      status_(ProcPath(pids.front(), "status")),
      meminfo_("/proc/meminfo"),
      system_stat_("/proc/stat"),
      cgroup_memory_(OpenIfNamed(MemoryUsageFile(FindCgroup(pids.front(), "memory")))),
      nvml_(std::move(nvml)) {
  for (const pid_t pid : pids) {
    schedstats_.emplace_back(ProcPath(pid, "schedstat"));
    disks_.emplace_back(ProcPath(pid, "io"));
  }
  for (const int index : nvml_ != nullptr ? gpus : std::vector<int>()) {
    series_.gpus.emplace_back().index = index;
    first_energy_joules_.push_back(nvml_->Read(index).energy_joules);
  }
}

bool SampleCollector::Collect(double time_s, bool refresh_slow) {
  if (refresh_slow) {
    tree_.FindDescendants();
  }
  const bool is_there = tree_.Refresh();
  const double interval_s = time_s - LastOr(series_.time_s, time_s);
  standstill_.Add(interval_s, is_there && tree_.stopped(), TakeOwnWait());
  series_.stood_still_seconds = standstill_.seconds();
  if (!is_there) {
    return false;
  }
  CollectWaits();
  CollectProcess(interval_s);
  CollectDisk();
  CollectSystem(refresh_slow);
  CollectGpus();
  if (refresh_slow) {
    constexpr double kKib = 1024;
    series_.rss_process_peak_bytes =
        std::max(series_.rss_process_peak_bytes, kKib * NumberAfter(status_.Read(), "VmHWM"));
  }
  series_.time_s.push_back(time_s);
  return true;
}

void SampleCollector::CollectProcess(double interval_s) {
  const ProcessUse root = tree_.root();
  const ProcessUse tree = tree_.tree();
  series_.cpu_process_percent.push_back(PercentOf(root.cpu_seconds - last_root_.cpu_seconds, interval_s));
  series_.cpu_tree_percent.push_back(PercentOf(tree.cpu_seconds - last_tree_.cpu_seconds, interval_s));
  series_.rss_process_bytes.push_back(root.rss_bytes);
  series_.rss_tree_bytes.push_back(tree.rss_bytes);
  series_.rss_process_peak_bytes = std::max(series_.rss_process_peak_bytes, root.rss_bytes);
  last_root_ = root;
  last_tree_ = tree;
}

/// A rank that is kept from its processor keeps the others waiting too, but they sleep meanwhile.
void SampleCollector::CollectWaits() {
  for (ProcFile& schedstat : schedstats_) {
    series_.cpu_wait_seconds = std::max(series_.cpu_wait_seconds, WaitSeconds(schedstat.Read()));
  }
}

double SampleCollector::TakeOwnWait() {
  // The first sample may be another thread's, whose file this would then be for good.
  if (series_.time_s.empty()) {
    return 0;
  }
  if (!own_schedstat_) {
    own_schedstat_.emplace("/proc/thread-self/schedstat");
  }
  const double before = std::exchange(own_wait_seconds_, WaitSeconds(own_schedstat_->Read()));
  return own_wait_seconds_ - before;
}

void SampleCollector::CollectDisk() {
  double read_bytes = 0;
  double write_bytes = 0;
  for (DiskUse& disk : disks_) {
    const std::string_view io = disk.io.Read();
    const double read = NumberAfter(io, "read_bytes");
    const double written = NumberAfter(io, "write_bytes");
    if (series_.time_s.empty()) {
      disk.first_read_bytes = read;
      disk.first_write_bytes = written;
    }
    // A process that just ended reads as 0.
    disk.read_bytes = std::max(disk.read_bytes, read - disk.first_read_bytes);
    disk.write_bytes = std::max(disk.write_bytes, written - disk.first_write_bytes);
    read_bytes += disk.read_bytes;
    write_bytes += disk.write_bytes;
  }
  series_.disk_read_bytes.push_back(read_bytes);
  series_.disk_write_bytes.push_back(write_bytes);
}

void SampleCollector::CollectSystem(bool refresh_slow) {
  const std::string_view meminfo = meminfo_.Read();
  const double total = NumberAfter(meminfo, "MemTotal");
  series_.memory_system_percent.push_back(PercentOf(total - NumberAfter(meminfo, "MemAvailable"), total));

  double usage = 0;
  const std::string_view text = cgroup_memory_.Read();
  std::from_chars(text.data(), text.data() + text.size(), usage);
  series_.cgroup_memory_bytes.push_back(usage);

  double busy_percent = LastOr(series_.cpu_system_percent, 0);
  if (refresh_slow) {
    const SystemTicks ticks = ParseSystemTicks(system_stat_.Read());
    const bool has_last = last_total_ticks_ > 0;
    busy_percent = has_last ? PercentOf(ticks.busy - last_busy_ticks_, ticks.total - last_total_ticks_) : 0;
    last_busy_ticks_ = ticks.busy;
    last_total_ticks_ = ticks.total;
  }
  series_.cpu_system_percent.push_back(busy_percent);
}

void SampleCollector::CollectGpus() {
  for (size_t i = 0; i < series_.gpus.size(); ++i) {
    GpuSeries& gpu = series_.gpus[i];
    const GpuReading reading = nvml_->Read(gpu.index);
    gpu.utilization_percent.push_back(reading.utilization_percent);
    gpu.memory_used_bytes.push_back(reading.memory_used_bytes);
    gpu.memory_total_bytes.push_back(reading.memory_total_bytes);
    gpu.power_watts.push_back(reading.power_watts);
    gpu.power_percent.push_back(100 * reading.power_watts / reading.power_limit_watts);
    gpu.energy_joules.push_back(reading.energy_joules - first_energy_joules_[i]);
  }
}

}  // namespace assay::measure
