#include "measure/utilization.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay::measure {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Key;

SampleSeries FourSamples() {
  SampleSeries series;
  series.time_s = {0, 1, 2, 4};
  series.cpu_process_percent = {0, 100, 200, 50};
  series.cpu_tree_percent = {0, 150, 250, 50};
  series.cpu_system_percent = {0, 50, 100, 25};
  series.rss_process_bytes = {100, 200, 300, 200};
  series.rss_tree_bytes = {100, 250, 350, 250};
  series.memory_system_percent = {10, 20, 30, 40};
  series.cgroup_memory_bytes = {1000, 1200, 1100, 900};
  series.disk_read_bytes = {0, 10, 10, 50};
  series.disk_write_bytes = {0, 0, 5, 7};
  series.rss_process_peak_bytes = 320;
  return series;
}

GpuSeries Gpu(int index, std::vector<double> utilization, std::vector<double> used, std::vector<double> watts) {
  GpuSeries gpu;
  gpu.index = index;
  gpu.memory_total_bytes.assign(used.size(), 1000);
  gpu.energy_joules.assign(used.size(), std::nan(""));
  for (const double power : watts) {
    gpu.power_percent.push_back(power / 4);
  }
  gpu.utilization_percent = std::move(utilization);
  gpu.memory_used_bytes = std::move(used);
  gpu.power_watts = std::move(watts);
  return gpu;
}

TEST(UtilizationTest, CpuTimeIsWeightedByIntervals) {
  const Utilization result = Summarize(FourSamples());
  EXPECT_EQ(result.samples, 4);
  EXPECT_DOUBLE_EQ(result.cpu_compute_utilization, (100 + 200 + 2 * 50) / 4.0);
  EXPECT_DOUBLE_EQ(result.cpu_compute_tree_utilization, (150 + 250 + 2 * 50) / 4.0);
  EXPECT_DOUBLE_EQ(result.cpu_compute_system_utilization, (50 + 100 + 2 * 25) / 4.0);
}

TEST(UtilizationTest, MemoryAndDisk) {
  const Utilization result = Summarize(FourSamples());
  EXPECT_EQ(result.cpu_memory_utilization, 25);
  EXPECT_EQ(result.cpu_memory_process_avg_bytes, 200);
  EXPECT_EQ(result.cpu_memory_process_peak_bytes, 320);
  EXPECT_EQ(result.cpu_memory_tree_peak_bytes, 350);
  EXPECT_EQ(result.cpu_memory_cgroup_peak_bytes, 1200);
  EXPECT_EQ(result.disk_read_bytes, 50);
  EXPECT_EQ(result.disk_write_bytes, 7);
}

TEST(UtilizationTest, WarmUpIsLeftOut) {
  const Utilization result = Summarize(FourSamples(), 0.5);
  EXPECT_EQ(result.samples, 3);
  EXPECT_DOUBLE_EQ(result.cpu_compute_utilization, (200 + 2 * 50) / 3.0);
  EXPECT_EQ(result.cpu_memory_utilization, 30);
  EXPECT_EQ(result.disk_read_bytes, 40);
  EXPECT_EQ(result.cpu_memory_process_peak_bytes, 320);
}

TEST(UtilizationTest, TheLastSampleIsAlwaysKept) {
  const Utilization result = Summarize(FourSamples(), 100);
  EXPECT_EQ(result.samples, 1);
  EXPECT_EQ(result.cpu_compute_utilization, 50);
  EXPECT_EQ(result.cpu_memory_utilization, 40);
}

TEST(UtilizationTest, NothingAndOneSample) {
  EXPECT_EQ(Summarize({}).samples, 0);
  SampleSeries one;
  one.time_s = {0};
  for (auto* column : {&one.cpu_process_percent, &one.cpu_tree_percent, &one.cpu_system_percent, &one.disk_read_bytes,
                       &one.disk_write_bytes, &one.cgroup_memory_bytes}) {
    *column = {0};
  }
  one.rss_process_bytes = one.rss_tree_bytes = {7};
  one.memory_system_percent = {9};
  const Utilization result = Summarize(one);
  EXPECT_EQ(result.cpu_compute_utilization, 0);
  EXPECT_EQ(result.cpu_memory_utilization, 9);
}

TEST(UtilizationTest, GpusAreMeansOverTimeThenMinMeanMax) {
  SampleSeries series = FourSamples();
  series.gpus = {Gpu(0, {0, 20, 40, 60}, {100, 200, 300, 400}, {100, 100, 100, 100}),
                 Gpu(1, {80, 80, 80, 80}, {500, 900, 500, 500}, {200, 400, 200, 200})};
  const Utilization result = Summarize(series);
  EXPECT_EQ(result.gpu_compute_utilization.min, 30);
  EXPECT_EQ(result.gpu_compute_utilization.avg, 55);
  EXPECT_EQ(result.gpu_compute_utilization.max, 80);
  EXPECT_DOUBLE_EQ(result.gpu_memory_utilization.min, 25);
  EXPECT_DOUBLE_EQ(result.gpu_memory_utilization.max, 60);
  EXPECT_DOUBLE_EQ(result.gpu_memory_utilization_peak, 90);
  EXPECT_EQ(result.gpu_memory_peak_bytes, 900);
  EXPECT_EQ(result.gpu_power_watts.avg, 175);
  EXPECT_EQ(result.gpu_power_percent.max, 62.5);
  // No counter: 400 J, and the trapezoids (200+400)/2 + (400+200)/2 + 2*200.
  EXPECT_DOUBLE_EQ(result.gpu_energy_joules, 400 + 300 + 300 + 400);
}

TEST(UtilizationTest, EnergyIsTheCountersDifference) {
  SampleSeries series = FourSamples();
  series.gpus = {Gpu(0, {0, 0, 0, 0}, {1, 1, 1, 1}, {100, 100, 100, 100})};
  series.gpus[0].energy_joules = {0, 90, 200, 450};
  EXPECT_EQ(Summarize(series).gpu_energy_joules, 450);
  EXPECT_EQ(Summarize(series, 1).gpu_energy_joules, 360);
}

TEST(UtilizationTest, WhatAGpuDoesNotTellIsZero) {
  SampleSeries series = FourSamples();
  const std::vector<double> untold(4, std::nan(""));
  series.gpus = {Gpu(0, {50, 50, 50, 50}, {1, 1, 1, 1}, untold)};
  const Utilization result = Summarize(series);
  EXPECT_EQ(result.gpu_power_watts.max, 0);
  EXPECT_EQ(result.gpu_power_percent.avg, 0);
  EXPECT_EQ(result.gpu_energy_joules, 0);
  EXPECT_EQ(result.gpu_compute_utilization.avg, 50);
}

TEST(UtilizationTest, PropertiesHaveTheReferencesNames) {
  const auto properties = ToProperties(Summarize(FourSamples()));
  for (const char* name :
       {"gpu_compute_utilization", "gpu_memory_utilization", "gpu_power_watts", "gpu_power_percent"}) {
    for (const char* suffix : {"_min", "_avg", "_max"}) {
      EXPECT_EQ(properties.at(std::string(name) + suffix), 0.0);
    }
  }
  EXPECT_EQ(properties.at("gpu_memory_utilization_peak"), 0.0);
  EXPECT_EQ(properties.at("cpu_compute_utilization"), 100);
  EXPECT_EQ(properties.at("cpu_memory_utilization"), 25);
}

TEST(SampleSeriesTest, SurvivesItsColumns) {
  SampleSeries series = FourSamples();
  series.gpus = {Gpu(0, {1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}), Gpu(3, {4, 3, 2, 1}, {1, 1, 1, 1}, {2, 2, 2, 2})};
  series.gpus[0].energy_joules = series.gpus[1].energy_joules = {0, 1, 2, 3};
  const auto columns = ToColumns(series);
  EXPECT_THAT(columns, Contains(Key("gpu3.power_watts")));
  for (const auto& [name, column] : columns) {
    EXPECT_EQ(column.size(), 4) << name;
  }
  EXPECT_EQ(ToColumns(FromColumns(columns)), columns);
  EXPECT_EQ(FromColumns(columns).gpus[1].index, 3);
  EXPECT_EQ(FromColumns(columns).rss_process_peak_bytes, 320);
}

TEST(SampleSeriesTest, MissingColumnsReadAsZeros) {
  const SampleSeries series = FromColumns({{"time_s", {0, 1}}, {"cpu_tree_percent", {0, 70}}});
  EXPECT_THAT(series.rss_tree_bytes, Each(0));
  EXPECT_EQ(Summarize(series).cpu_compute_tree_utilization, 70);
  EXPECT_EQ(FromColumns({}).size(), 0);
}

}  // namespace
}  // namespace assay::measure
