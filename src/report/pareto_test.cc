#include "report/pareto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using ::testing::ElementsAre;
using testing::MakeInvalid;
using testing::MakeValid;

/// A run of which the throughput and the peak of tensor memory are known.
Measurement ParetoRun(int64_t batch_size, double throughput, double gib, const char* host = "workbench") {
  Measurement run = MakeValid({.batch_size = batch_size});
  run.series.clear();
  run.properties = {{"real_tokens_per_second", throughput}, {"peak_tensor_bytes", gib * 1024 * 1024 * 1024}};
  run.provenance["host"] = host;
  return run;
}

std::vector<int64_t> BatchesOnFront(const std::vector<Measurement>& measurements) {
  const ResultSet results(measurements);
  const std::vector<Metric> metrics = ResolveMetrics(results);
  const std::vector<Front> fronts = FindFronts(results, metrics, Estimates(results, metrics));
  EXPECT_EQ(fronts.size(), 1u);
  std::vector<int64_t> batches;
  for (const size_t at : fronts.at(0).configurations) {
    batches.push_back(std::get<int64_t>(results.configurations()[at].At("batch_size")));
  }
  return batches;
}

TEST(ParetoTest, WhatIsBeatenInBothIsNotOnTheFront) {
  EXPECT_THAT(BatchesOnFront({ParetoRun(1, 100, 1), ParetoRun(2, 150, 2), ParetoRun(4, 140, 3), ParetoRun(8, 200, 4)}),
              ElementsAre(1, 2, 8));
}

TEST(ParetoTest, EqualOnesAreBothOnItAndAnEqualSideDoesNotSave) {
  EXPECT_THAT(BatchesOnFront({ParetoRun(1, 100, 1), ParetoRun(2, 100, 1), ParetoRun(4, 90, 1), ParetoRun(8, 100, 2)}),
              ElementsAre(1, 2));
}

TEST(ParetoTest, MachinesAreNeverHeldAgainstEachOther) {
  EXPECT_THAT(BatchesOnFront({ParetoRun(1, 100, 1, "server"), ParetoRun(2, 150, 2, "server"),
                              ParetoRun(1, 10, 1, "laptop"), ParetoRun(2, 9, 2, "laptop")}),
              ElementsAre(1, 1, 2));
}

TEST(ParetoTest, WhatHasNoValuesIsOnNone) {
  EXPECT_THAT(BatchesOnFront({ParetoRun(1, 100, 1), MakeInvalid({.batch_size = 2}, "out of memory")}), ElementsAre(1));
}

}  // namespace
}  // namespace assay::report
