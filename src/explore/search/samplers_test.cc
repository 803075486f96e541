#include "explore/search/samplers.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "explore/search/latin_hypercube.h"
#include "explore/search/objective.h"
#include "measure/statistics.h"

namespace assay::explore {
namespace {

using Objective = std::function<std::vector<double>(const std::vector<int64_t>&)>;

const Grid kGrid({{.size = 8, .ordered = true}, {.size = 4, .ordered = false}, {.size = 16, .ordered = true}});

/// A ridge that bends, with another height for each name: its least value is at 6, 2, 11.
std::vector<double> Bowl(const std::vector<int64_t>& at) {
  constexpr double kOfName[] = {1.0, 0.6, 0.0, 1.4};
  const double x = (static_cast<double>(at[0]) - 6) / 8;
  const double y = (static_cast<double>(at[2]) - 11) / 16;
  return {x * x + 2 * (y - 0.3 * x) * (y - 0.3 * x) + kOfName[at[1]] * (1 + 0.3 * x)};
}

/// As it would be measured, each point with luck of its own, of a tenth of what the names differ by.
std::vector<double> NoisyBowl(const std::vector<int64_t>& at) {
  std::mt19937_64 luck(static_cast<uint64_t>(kGrid.PositionOf(at)));
  return {Bowl(at)[0] + std::normal_distribution<double>(0, 0.1)(luck)};
}

/// How many points are looked at until the best of all was.
int64_t LooksUntilBest(const char* name, const Objective& objective, uint64_t seed) {
  int64_t best = 0;
  for (int64_t position = 0; position < kGrid.size(); ++position) {
    best = objective(kGrid.At(position)) < objective(kGrid.At(best)) ? position : best;
  }
  const auto sampler = MakeSampler(name, kGrid, kGrid.size(), seed).value();
  for (int64_t looks = 1; looks <= kGrid.size(); ++looks) {
    const std::optional<int64_t> position = sampler->Next();
    if (!position || *position == best) {
      return looks;
    }
    sampler->Tell(*position, objective(kGrid.At(*position)));
  }
  return kGrid.size();
}

class SamplersTest : public testing::TestWithParam<const char*> {};

TEST_P(SamplersTest, EachPointComesOnceAndThenNone) {
  const Grid grid({{.size = 3, .ordered = true}, {.size = 5, .ordered = false}});
  const auto sampler = MakeSampler(GetParam(), grid, 7, 1).value();
  std::set<int64_t> seen;
  while (const auto position = sampler->Next()) {
    ASSERT_TRUE(*position >= 0 && *position < grid.size());
    EXPECT_TRUE(seen.insert(*position).second) << *position;
    sampler->Tell(*position, *position % 4 == 0 ? std::vector<double>() : std::vector{1.0 / (1.0 + *position)});
  }
  EXPECT_EQ(std::ssize(seen), grid.size());
}

TEST_P(SamplersTest, ASeedDecides) {
  const auto order = [](uint64_t seed) {
    const auto sampler = MakeSampler(GetParam(), kGrid, 20, seed).value();
    std::vector<int64_t> positions;
    for (int i = 0; i < 20; ++i) {
      positions.push_back(*sampler->Next());
      sampler->Tell(positions.back(), Bowl(kGrid.At(positions.back())));
    }
    return positions;
  };
  EXPECT_EQ(order(3), order(3));
  if (std::string_view(GetParam()) != "sequential") {
    EXPECT_NE(order(3), order(4));
  }
}

INSTANTIATE_TEST_SUITE_P(All, SamplersTest, testing::Values("sequential", "random", "latin-hypercube", "model"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(RatioScaleTest, KeepsTheOrderOfAllAmountsAndTheRatiosOfPositiveOnes) {
  const double amounts[] = {-1e9, -5, -0.001, 0, 1e-6, 0.1, 0.5, 1, 2, 1e9};
  for (size_t i = 1; i < std::size(amounts); ++i) {
    EXPECT_LT(RatioScale(amounts[i - 1]), RatioScale(amounts[i])) << amounts[i];
  }
  EXPECT_NEAR(RatioScale(0.2) - RatioScale(0.1), std::log(2), 1e-12);
  EXPECT_NEAR(RatioScale(3e6) - RatioScale(1e3), std::log(3e3), 1e-12);
}

TEST(LatinHypercubeTest, MeetsEveryValueEvenly) {
  std::mt19937_64 random(5);
  for (const int64_t count : {4, 10, 32}) {
    const std::vector<int64_t> positions = LatinHypercube(kGrid, count, random);
    ASSERT_EQ(std::ssize(positions), count);
    for (size_t axis = 0; axis < kGrid.axes().size(); ++axis) {
      std::map<int64_t, int64_t> met;
      for (const int64_t position : positions) {
        ++met[kGrid.At(position)[axis]];
      }
      const int64_t size = kGrid.axes()[axis].size;
      EXPECT_EQ(std::ssize(met), std::min(size, count));
      for (const auto& [value, times] : met) {
        EXPECT_LE(times, (count + size - 1) / size);
      }
    }
  }
}

TEST(ModelSamplerTest, FindsTheBestWithAQuarterOfTheLooks) {
  for (const Objective& objective : {Objective(Bowl), Objective(NoisyBowl)}) {
    std::vector<double> by_model;
    std::vector<double> by_chance;
    for (uint64_t seed = 0; seed < 9; ++seed) {
      by_model.push_back(static_cast<double>(LooksUntilBest("model", objective, seed)));
      by_chance.push_back(static_cast<double>(LooksUntilBest("random", objective, seed)));
    }
    EXPECT_LE(measure::Median(by_model), measure::Median(by_chance) / 4);
  }
}

TEST(ModelSamplerTest, AxesOfOneValueChangeNothing) {
  const GridAxis one{.size = 1, .ordered = true};
  const Grid wider({one, kGrid.axes()[0], one, kGrid.axes()[1], kGrid.axes()[2], {.size = 1, .ordered = false}});
  const auto sampler = MakeSampler("model", kGrid, 40, 1).value();
  const auto of_wider = MakeSampler("model", wider, 40, 1).value();
  for (int i = 0; i < 40; ++i) {
    const int64_t position = *sampler->Next();
    ASSERT_EQ(*of_wider->Next(), position) << i;
    sampler->Tell(position, Bowl(kGrid.At(position)));
    of_wider->Tell(position, Bowl(kGrid.At(position)));
  }
}

TEST(ModelSamplerTest, KeepsAwayFromWhereNothingIsValid) {
  const auto sampler = MakeSampler("model", kGrid, 40, 2).value();
  int64_t wasted = 0;
  for (int i = 0; i < 60; ++i) {
    const int64_t position = *sampler->Next();
    const std::vector<int64_t> at = kGrid.At(position);
    const bool too_large = at[0] >= 4;  // half of the space
    wasted += too_large && i >= 20 ? 1 : 0;
    sampler->Tell(position, too_large ? std::vector<double>() : Bowl(at));
  }
  EXPECT_LT(wasted, 16) << "of 40, of which chance would have wasted 20";
}

TEST(ModelSamplerTest, OfTwoObjectivesItFindsBothEnds) {
  const Objective both = [](const std::vector<int64_t>& at) {
    const auto x = static_cast<double>(at[0]);
    const auto y = static_cast<double>(at[2]);
    const double off = static_cast<double>(at[1] != 1) + std::abs(y - 2 * x) / 4;
    return std::vector{x + off, 7 - x + off};
  };
  const auto sampler = MakeSampler("model", kGrid, 60, 6).value();
  std::set<int64_t> on_front;
  for (int i = 0; i < 80; ++i) {
    const int64_t position = *sampler->Next();
    const std::vector<int64_t> at = kGrid.At(position);
    sampler->Tell(position, both(at));
    if (at[1] == 1 && at[2] == 2 * at[0]) {
      on_front.insert(at[0]);
    }
  }
  EXPECT_GE(std::ssize(on_front), 6) << "of the 8 points of the front";
}

TEST(SamplersTableTest, AnotherNameIsRefused) {
  EXPECT_EQ(MakeSampler("magic", kGrid, 1, 1).status().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace assay::explore
