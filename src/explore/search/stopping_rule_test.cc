#include "explore/search/stopping_rule.h"

#include <gmock/gmock.h>

#include <deque>
#include <vector>

namespace assay::explore {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kSteps = 10;
constexpr int64_t kRuns = 24;

/// A value of each step.
constexpr double kValues[kRuns][kSteps] = {
    {23, 15, 24, 34, 8, 8, 26, 7, 17, 25},    {19, 37, 24, 15, 16, 30, 28, 12, 19, 11},
    {47, 41, 24, 45, 25, 28, 44, 43, 40, 17}, {55, 54, 45, 30, 36, 27, 48, 29, 35, 39},
    {21, 37, 18, 36, 24, 33, 38, 15, 11, 30}, {46, 48, 28, 34, 22, 40, 46, 17, 38, 15},
    {55, 36, 48, 55, 47, 42, 56, 35, 40, 44}, {32, 27, 23, 20, 16, 37, 40, 16, 8, 28},
    {32, 41, 39, 31, 47, 34, 26, 38, 15, 16}, {48, 43, 32, 56, 37, 28, 41, 37, 20, 46},
    {14, 42, 32, 32, 20, 20, 34, 18, 28, 23}, {42, 36, 18, 18, 25, 33, 41, 39, 12, 11},
    {56, 53, 36, 49, 45, 49, 38, 30, 47, 32}, {60, 45, 30, 48, 43, 34, 52, 29, 45, 25},
    {25, 47, 26, 18, 43, 21, 26, 25, 29, 10}, {30, 41, 38, 43, 30, 23, 35, 39, 26, 44},
    {47, 44, 57, 43, 35, 31, 27, 30, 28, 30}, {42, 22, 12, 31, 35, 16, 19, 19, 6, 11},
    {38, 42, 34, 44, 41, 29, 20, 43, 34, 38}, {55, 55, 57, 27, 43, 56, 51, 44, 36, 35},
    {29, 27, 14, 29, 35, 24, 8, 13, 6, 11},   {37, 24, 21, 30, 40, 16, 17, 12, 35, 16},
    {48, 29, 39, 49, 23, 24, 28, 45, 34, 23}, {37, 19, 22, 32, 21, 25, 9, 7, 22, 20},
};

/// The step at which each run is ended, one run after the other; 0: it is whole.
std::vector<int64_t> Ends(const StoppingRule& rule) {
  std::deque<OtherRun> runs;
  std::vector<const OtherRun*> others;
  std::vector<int64_t> ends;
  for (const auto& values : kValues) {
    OtherRun run;
    int64_t end = 0;
    for (int64_t step = 1; step <= kSteps && end == 0; ++step) {
      run.curve[step] = values[step - 1];
      end = EndsNow(rule, run.curve, others) ? step : 0;
    }
    run.whole = end == 0;
    others.push_back(&runs.emplace_back(std::move(run)));
    ends.push_back(end);
  }
  return ends;
}

// Numbers of Optuna 5.0.0, whose pruners were told the same values and asked after each step.
TEST(StoppingRuleTest, EndsWhereOptunasMedianPrunerDoes) {
  EXPECT_THAT(Ends({.kind = StoppingRule::Kind::kMedian, .first_step = 4, .startup = 3}),
              ElementsAre(0, 0, 0, 5, 5, 5, 4, 8, 5, 5, 8, 5, 4, 5, 5, 5, 4, 0, 4, 5, 0, 10, 8, 0));
  EXPECT_THAT(Ends({.kind = StoppingRule::Kind::kMedian, .first_step = 1, .startup = 5}),
              ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
}

TEST(StoppingRuleTest, EndsWhereOptunasSuccessiveHalvingDoes) {
  EXPECT_THAT(Ends({.kind = StoppingRule::Kind::kHalving, .first_step = 1, .reduction = 2}),
              ElementsAre(0, 2, 1, 1, 2, 1, 1, 8, 2, 1, 2, 1, 1, 1, 2, 2, 1, 4, 2, 1, 8, 4, 1, 4));
  EXPECT_THAT(Ends({.kind = StoppingRule::Kind::kHalving, .first_step = 2, .reduction = 4}),
              ElementsAre(0, 2, 2, 2, 2, 2, 2, 8, 2, 2, 2, 8, 2, 2, 2, 2, 2, 8, 2, 2, 8, 8, 2, 0));
}

TEST(StoppingRuleTest, TheMedianIsOfWholeRunsThatHaveTheStep) {
  const OtherRun whole = {.curve = {{1, 1}, {2, 1}}, .whole = true};
  const OtherRun short_one = {.curve = {{1, 9}}, .whole = true};
  const OtherRun under_way = {.curve = {{1, 9}, {2, 9}}, .whole = false};
  const std::vector<const OtherRun*> others = {&whole, &short_one, &under_way};
  const StoppingRule rule = {.kind = StoppingRule::Kind::kMedian, .first_step = 2, .startup = 2};
  EXPECT_TRUE(EndsNow(rule, {{1, 3}, {2, 2}}, others)) << "the median of one, 1";
  EXPECT_FALSE(EndsNow(rule, {{1, 1}, {2, 2}}, others)) << "its best is as good";
  EXPECT_FALSE(EndsNow(rule, {{1, 3}}, others)) << "before the first step that counts";
  EXPECT_FALSE(EndsNow(rule, {{3, 5}}, others)) << "nobody else came so far";
  const std::vector<const OtherRun*> fewer = {&whole, &under_way};
  EXPECT_FALSE(EndsNow(rule, {{1, 3}, {2, 2}}, fewer)) << "only one was seen whole";
}

}  // namespace
}  // namespace assay::explore
