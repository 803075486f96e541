#include "report/model/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::report {
namespace {

using ::testing::ElementsAre;

TEST(FiguresTest, SeriesOfOneKindShareAFigure) {
  const std::string series[] = {"gpu0.power_watts", "gpu11.power_watts", "loss", "reference_loss", "odd", "gpu.x"};
  EXPECT_THAT(FiguresOf(series), ElementsAre("gpu_power", "gpu_power", "loss", "loss", "", ""));
}

TEST(FiguresTest, OfSeveralRanksTheirOwnStepTimesAreShownAndOfOneTheRuns) {
  const std::string several[] = {"rank0.step_seconds", "rank1.step_seconds", "step_seconds"};
  EXPECT_THAT(FiguresOf(several), ElementsAre("step_time", "step_time", ""));
  const std::string one[] = {"rank0.step_seconds", "step_seconds"};
  EXPECT_THAT(FiguresOf(one), ElementsAre("", "step_time"));
}

TEST(FiguresTest, ACurveIsNamedInWords) {
  EXPECT_EQ(CurveLabel("rank12.step_seconds"), "rank 12");
  EXPECT_EQ(CurveLabel("cpu_tree_percent"), "cpu tree percent");
}

TEST(FiguresTest, ALossSaysWhatItIsTheMeanOf) {
  EXPECT_EQ(FiguresJson("images")[0].at("text"), "mean over a step's images");
  EXPECT_EQ(FiguresJson("")[0].at("text"), "");
}

}  // namespace
}  // namespace assay::report
