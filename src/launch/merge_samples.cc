#include "launch/merge_samples.h"

#include <algorithm>
#include <utility>

namespace assay::launch {
namespace {

using measure::GpuSeries;
using measure::SampleSeries;
using Column = std::vector<double>;

constexpr size_t kNone = static_cast<size_t>(-1);

/// For each of `times` the last of `samples` that is not after it; kNone where all are.
std::vector<size_t> LastBefore(const Column& times, const Column& samples) {
  std::vector<size_t> places;
  for (const double time : times) {
    const auto after = std::ranges::upper_bound(samples, time);
    places.push_back(static_cast<size_t>(after - samples.begin()) - 1);
  }
  return places;
}

double At(const Column& column, size_t place) {
  return place == kNone ? 0 : column[place];
}

void Add(Column& sum, const Column& other, const std::vector<size_t>& places) {
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] += At(other, places[i]);
  }
}

constexpr Column SampleSeries::* kOfProcesses[] = {&SampleSeries::cpu_tree_percent, &SampleSeries::rss_tree_bytes,
                                                   &SampleSeries::cgroup_memory_bytes, &SampleSeries::disk_read_bytes,
                                                   &SampleSeries::disk_write_bytes};
constexpr Column SampleSeries::* kOfMachines[] = {&SampleSeries::cpu_system_percent,
                                                  &SampleSeries::memory_system_percent};
constexpr Column GpuSeries::* kOfGpus[] = {&GpuSeries::utilization_percent, &GpuSeries::memory_used_bytes,
                                           &GpuSeries::memory_total_bytes,  &GpuSeries::power_watts,
                                           &GpuSeries::power_percent,       &GpuSeries::energy_joules};

void AddGpus(SampleSeries& merged, const SampleSeries& machine, const std::vector<size_t>& places) {
  int next = 0;
  for (const GpuSeries& gpu : merged.gpus) {
    next = std::max(next, gpu.index + 1);
  }
  for (const GpuSeries& gpu : machine.gpus) {
    GpuSeries moved;
    moved.index = next++;
    for (const auto column : kOfGpus) {
      for (const size_t place : places) {
        (moved.*column).push_back(At(gpu.*column, place));
      }
    }
    merged.gpus.push_back(std::move(moved));
  }
}

}  // namespace

SampleSeries MergeSamples(std::vector<SampleSeries> machines) {
  SampleSeries merged = std::move(machines.front());
  double count = 1;
  for (auto machine = machines.begin() + 1; machine != machines.end(); ++machine) {
    merged.stood_still_seconds = std::max(merged.stood_still_seconds, machine->stood_still_seconds);
    merged.cpu_wait_seconds = std::max(merged.cpu_wait_seconds, machine->cpu_wait_seconds);
    if (machine->time_s.empty() || merged.time_s.empty()) {
      continue;
    }
    const std::vector<size_t> places = LastBefore(merged.time_s, machine->time_s);
    for (const auto column : kOfProcesses) {
      Add(merged.*column, (*machine).*column, places);
    }
    for (const auto column : kOfMachines) {
      Add(merged.*column, (*machine).*column, places);
    }
    AddGpus(merged, *machine, places);
    ++count;
  }
  for (const auto column : kOfMachines) {
    for (double& value : merged.*column) {
      value /= count;
    }
  }
  return merged;
}

}  // namespace assay::launch
