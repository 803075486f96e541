#include "launch/merge_samples.h"

#include <gmock/gmock.h>

namespace assay::launch {
namespace {

using testing::ElementsAre;

measure::SampleSeries Machine(const std::vector<double>& times, double cpu, double memory_percent) {
  std::map<std::string, std::vector<double>> columns = {{"time_s", times}};
  for (const char* name : {"cpu_tree_percent", "rss_process_bytes", "gpu0.utilization_percent"}) {
    columns[name].assign(times.size(), cpu);
  }
  columns["memory_system_percent"].assign(times.size(), memory_percent);
  return measure::FromColumns(columns);
}

TEST(MergeSamplesTest, ProcessesAddUpAndMachinesAreAveraged) {
  const auto merged = MergeSamples({Machine({0, 1, 2}, 100, 20), Machine({0.5, 1.5}, 50, 40)});
  EXPECT_THAT(merged.time_s, ElementsAre(0, 1, 2));
  EXPECT_THAT(merged.cpu_tree_percent, ElementsAre(100, 150, 150));
  EXPECT_THAT(merged.memory_system_percent, ElementsAre(10, 30, 30));
  EXPECT_THAT(merged.rss_process_bytes, ElementsAre(100, 100, 100));
}

TEST(MergeSamplesTest, GpusAreNumberedOn) {
  const auto merged = MergeSamples({Machine({0, 1}, 10, 0), Machine({0, 1}, 20, 0), Machine({0, 1}, 30, 0)});
  ASSERT_EQ(merged.gpus.size(), 3);
  EXPECT_EQ(merged.gpus[2].index, 2);
  EXPECT_THAT(merged.gpus[2].utilization_percent, ElementsAre(30, 30));
}

TEST(MergeSamplesTest, AMachineWithoutSamplesAddsNothing) {
  const auto merged = MergeSamples({Machine({0, 1}, 10, 8), measure::SampleSeries()});
  EXPECT_THAT(merged.cpu_tree_percent, ElementsAre(10, 10));
  EXPECT_THAT(merged.memory_system_percent, ElementsAre(8, 8));
}

}  // namespace
}  // namespace assay::launch
