#include "report/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "report/effect.h"
#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using ::testing::AllOf;
using ::testing::Contains;
using testing::DemoSpace;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::MakeFailed;
using testing::MakeInvalid;
using testing::MakeValid;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<Finding> FindingsOf(const std::vector<Measurement>& measurements) {
  const ResultSet results(measurements);
  const std::vector<Metric> metrics = ResolveMetrics(results);
  return FindFindings(results, metrics, Estimates(results, metrics)).list;
}

// A run whose throughput is known without any steps: no interval but the one given.
Measurement RunOf(const char* method, int64_t batch_size, double throughput, double half_width = 0) {
  Measurement run = MakeValid({.method = method, .batch_size = batch_size});
  run.series.clear();
  run.properties = {{"real_tokens_per_second", throughput}};
  if (half_width > 0) {
    run.properties["real_tokens_per_second_ci_low"] = throughput - half_width;
    run.properties["real_tokens_per_second_ci_high"] = throughput + half_width;
  }
  return run;
}

std::vector<MatchedPair> MethodPairs(const ResultSet& results) {
  return MatchedPairs(results, Compare(results, "method", std::string("full"), std::string("lora")));
}

/// Of what lora gives against full.
Strength StrengthOfMethods(const std::vector<Measurement>& measurements) {
  const std::vector<Finding> findings = FindingsOf(measurements);
  const auto found = std::ranges::find_if(
      findings, [](const Finding& finding) { return finding.headline.starts_with("Against full, lora gives"); });
  EXPECT_NE(found, findings.end());
  return found->strength;
}

Measurement With(Measurement run, const std::map<std::string, space::Value>& entity) {
  for (const auto& [property, value] : entity) {
    run.entity[property] = value;
  }
  run.entity_id = space::EntityId(run.entity);
  return run;
}

Measurement OnHost(Measurement run, std::string host) {
  run.provenance["host"] = std::move(host);
  return run;
}

std::vector<std::string> HeadlinesOf(const std::vector<Measurement>& measurements) {
  std::vector<std::string> headlines;
  for (const Finding& finding : FindingsOf(measurements)) {
    headlines.push_back(finding.headline);
  }
  return headlines;
}

TEST(FindingsTest, NameTheFastestAndWhatIsNext) {
  const auto findings = FindingsOf({RunOf("full", 4, 1000, 20), RunOf("lora", 4, 1500, 30)});
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].headline, "Fastest: lora, with 1,500 real tokens/s.");
  EXPECT_EQ(findings[0].strength, Strength::kClearInRuns);
  EXPECT_THAT(findings[0].detail, HasSubstr("1.50\u00d7 the next, full, at 1,000: 95 % interval 1."));
  EXPECT_THAT(findings[0].detail, HasSubstr("how much a second run would differ was not measured"));
}

TEST(FindingsTest, RepeatedRunsMakeALeadClear) {
  std::vector<Measurement> measurements;
  for (double noise : {-1.0, 0.0, 1.0}) {
    measurements.push_back(RunOf("full", 4, 100 + noise));
    measurements.push_back(RunOf("lora", 4, 150 + noise));
  }
  const auto findings = FindingsOf(measurements);
  EXPECT_EQ(findings[0].strength, Strength::kClear);
  EXPECT_EQ(findings[1].strength, Strength::kClear);
  EXPECT_THAT(findings[0].detail, Not(HasSubstr("second run")));
}

TEST(FindingsTest, SayWhenIntervalsOverlap) {
  const auto findings = FindingsOf({RunOf("full", 4, 1000, 50), RunOf("lora", 4, 1040, 50)});
  EXPECT_EQ(findings[0].strength, Strength::kUnclear);
  EXPECT_THAT(findings[0].detail, HasSubstr("1.04\u00d7 the next, full, at 1,000: 95 % interval 0.9"));
  EXPECT_EQ(findings[1].headline, "Against full, lora gives 1.04\u00d7 the throughput.");
  EXPECT_EQ(findings[1].strength, Strength::kUnclear);
  EXPECT_THAT(findings[1].detail, StartsWith("95 % interval 0.9"));
  EXPECT_THAT(findings[1].detail, HasSubstr("of one matched pair"));
}

TEST(FindingsTest, SayWhenThereIsNoInterval) {
  const auto findings = FindingsOf({RunOf("full", 4, 1000), RunOf("lora", 4, 3000)});
  EXPECT_EQ(findings[0].strength, Strength::kNoInterval);
  EXPECT_THAT(findings[1].detail, HasSubstr("no intervals to judge it by"));
}

TEST(FindingsTest, EffectsAreGeometricMeansOverMatchedPairs) {
  const auto findings = FindingsOf(
      {RunOf("full", 1, 100, 1), RunOf("lora", 1, 200, 1), RunOf("full", 4, 100, 1), RunOf("lora", 4, 800, 1)});
  EXPECT_THAT(
      findings,
      Contains(AllOf(Field(&Finding::headline, "Against full, lora gives 4.00\u00d7 the throughput."),
                     Field(&Finding::strength, Strength::kClearInRuns),
                     Field(&Finding::detail, HasSubstr("of the geometric mean over 2 matched pairs, which range from "
                                                       "2.00\u00d7 to 8.00\u00d7.")))));
  EXPECT_THAT(findings, Contains(Field(&Finding::headline,
                                       "Against batch size 1, batch size 4 gives 2.00\u00d7 the "
                                       "throughput.")));
}

TEST(FindingsTest, SideEffectsHaveTheirIntervalOrSayThatThereIsNone) {
  const auto with_peak = [](Measurement run, int64_t bytes) {
    run.properties["peak_tensor_bytes"] = bytes;
    return run;
  };
  const auto detail_of = [](const std::vector<Measurement>& measurements) {
    const std::vector<Finding> findings = FindingsOf(measurements);
    const auto found = std::ranges::find_if(
        findings, [](const Finding& finding) { return finding.headline.starts_with("Against full, lora gives"); });
    return found == findings.end() ? "" : found->detail;
  };
  std::vector<Measurement> measurements = {with_peak(RunOf("full", 1, 100), 2000),
                                           with_peak(RunOf("lora", 1, 200), 1000)};
  EXPECT_THAT(detail_of(measurements), HasSubstr(". Peak tensor memory 0.500\u00d7 (no interval)."));
  for (const auto& [batch, bytes] : {std::pair<int64_t, int64_t>{2, 1100}, {4, 900}}) {
    measurements.push_back(with_peak(RunOf("full", batch, 100), 2000));
    measurements.push_back(with_peak(RunOf("lora", batch, 200), bytes));
  }
  // The logarithms of 0.5, 0.55 and 0.45: mean -0.6965, standard error 0.0579; Student's t with 2 degrees: 4.303.
  EXPECT_THAT(detail_of(measurements),
              HasSubstr(". Peak tensor memory 0.498\u00d7 (95 % interval 0.388\u00d7 to 0.639\u00d7)."));
}

// Three pairs are a sample of their own: what every pair shows stands although no run alone could tell.
TEST(FindingsTest, ThreePairsMakeAnInterval) {
  std::vector<Measurement> measurements;
  for (int64_t batch : {1, 2, 4}) {
    const double speed = 100.0 * static_cast<double>(batch);
    measurements.push_back(RunOf("full", batch, speed, 0.5 * speed));
    measurements.push_back(RunOf("lora", batch, (1.3 + 0.02 * static_cast<double>(batch)) * speed, 0.5 * speed));
  }
  const ResultSet results(measurements);
  const Effect effect = *EffectOn(MethodPairs(results), ResolveMetrics(results).front());
  ASSERT_TRUE(effect.interval.has_value());
  EXPECT_GT(effect.interval->first, 1.25);
  EXPECT_LT(effect.interval->second, 1.45);
  EXPECT_LT(effect.p_value.value(), 0.01);
  EXPECT_TRUE(effect.within_runs);
}

TEST(FindingsTest, ThreePairsOfRepeatedRunsAreClear) {
  std::vector<Measurement> measurements;
  for (int64_t batch : {1, 2, 4}) {
    for (const double noise : {-1.0, 0.0, 1.0}) {
      measurements.push_back(RunOf("full", batch, 100 + noise));
      measurements.push_back(RunOf("lora", batch, 130 + static_cast<double>(batch) + noise));
    }
  }
  EXPECT_EQ(StrengthOfMethods(measurements), Strength::kClear);
  // A side that was run once leaves open how much it would differ another time.
  measurements.erase(measurements.begin(), measurements.begin() + 4);
  EXPECT_EQ(StrengthOfMethods(measurements), Strength::kClearInRuns);
}

TEST(FindingsTest, AnotherMachineThatRepeatsEveryPairMakesNothingSurer) {
  std::vector<Measurement> measurements = DemoSpace();
  const ResultSet alone(measurements);
  const Effect once = *EffectOn(MethodPairs(alone), ResolveMetrics(alone).front());
  for (const Measurement& run : DemoSpace()) {
    measurements.push_back(OnHost(run, "laptop"));
  }
  const ResultSet both(measurements);
  ASSERT_EQ(MethodPairs(both).size(), 8);
  const Effect twice = *EffectOn(MethodPairs(both), ResolveMetrics(both).front());
  EXPECT_EQ(twice.pairs, 4);
  EXPECT_DOUBLE_EQ(twice.ratio, once.ratio);
  EXPECT_NEAR(twice.p_value.value(), once.p_value.value(), 1e-12);
  EXPECT_NEAR(twice.interval->first, once.interval->first, 1e-12);
  EXPECT_NEAR(twice.interval->second, once.interval->second, 1e-12);
  EXPECT_THAT(
      FindingsOf(measurements),
      Contains(Field(&Finding::detail, HasSubstr("over 4 matched pairs, each under 2 conditions, which range from"))));
}

// Two machines measure one pair: its error is that of the mean of both, and their disagreement leaves nothing sure.
TEST(FindingsTest, OnePairOnTwoMachinesHasTheErrorOfAllItsRuns) {
  std::vector<Measurement> measurements = {RunOf("full", 1, 100, 2), RunOf("lora", 1, 130, 2),
                                           OnHost(RunOf("full", 1, 100, 2), "laptop"),
                                           OnHost(RunOf("lora", 1, 130, 2), "laptop")};
  const auto width_of = [](const std::vector<Measurement>& runs) {
    const ResultSet results(runs);
    const Effect effect = *EffectOn(MethodPairs(results), ResolveMetrics(results).front());
    EXPECT_EQ(effect.pairs, 1);
    return std::log(effect.interval->second / effect.interval->first);
  };
  const double alone = width_of({measurements[0], measurements[1]});
  EXPECT_LT(width_of(measurements), alone / std::sqrt(2));
  EXPECT_GT(width_of(measurements), alone / 2);
  EXPECT_THAT(FindingsOf(measurements),
              Contains(Field(&Finding::detail, HasSubstr("of one matched pair, under 2 conditions"))));
  measurements[3] = OnHost(RunOf("lora", 1, 90, 2), "laptop");
  EXPECT_EQ(StrengthOfMethods(measurements), Strength::kUnclear);
}

TEST(FindingsTest, PairsThatDisagreeAreWithinTheNoise) {
  const std::vector<Measurement> measurements = {RunOf("full", 1, 100), RunOf("lora", 1, 130), RunOf("full", 2, 100),
                                                 RunOf("lora", 2, 80),  RunOf("full", 4, 100), RunOf("lora", 4, 115)};
  EXPECT_EQ(StrengthOfMethods(measurements), Strength::kUnclear);
}

TEST(FindingsTest, TwoPairsThatDisagreeHaveNoEffectHoweverSureEachIs) {
  const std::vector<Measurement> measurements = {RunOf("full", 1, 100, 1), RunOf("lora", 1, 300, 1),
                                                 RunOf("full", 2, 100, 1), RunOf("lora", 2, 90, 1)};
  EXPECT_EQ(StrengthOfMethods(measurements), Strength::kUnclear);
}

// Twenty plugins that are the same, each measured once with steps that scatter: one looks fast by chance.
TEST(FindingsTest, OfManyComparisonsTheOneThatLooksClearByChanceIsNot) {
  std::vector<Measurement> measurements;
  for (int i = 0; i < 20; ++i) {
    measurements.push_back(With(RunOf("full", 4, i == 7 ? 106 : 100, 3), {{"plugin", "p" + std::to_string(i + 10)}}));
  }
  const std::vector<Finding> among_many = FindingsOf(measurements);
  const auto lucky = std::ranges::find_if(
      among_many, [](const Finding& finding) { return finding.headline.find("p17 gives") != std::string::npos; });
  ASSERT_NE(lucky, among_many.end());
  EXPECT_LT(lucky->p_value.value(), 0.05);
  EXPECT_GT(lucky->adjusted_p_value.value(), 0.05);
  EXPECT_EQ(lucky->strength, Strength::kUnclear);
  EXPECT_THAT(lucky->detail, HasSubstr("By itself it would look clear"));
  // The same two alone.
  const std::vector<Finding> alone = FindingsOf({measurements[0], measurements[7]});
  EXPECT_EQ(alone[1].strength, Strength::kClearInRuns);
}

TEST(FindingsTest, RunsThatWaitedForAProcessorAreNamed) {
  std::vector<Measurement> measurements = {RunOf("full", 1, 100), RunOf("lora", 1, 130)};
  EXPECT_THAT(HeadlinesOf(measurements), Not(Contains(HasSubstr("waited"))));
  measurements[1].provenance["starved"] = "waited for a processor for 4.00 s of 10.0 s";
  const auto findings = FindingsOf(measurements);
  EXPECT_THAT(findings, Contains(AllOf(Field(&Finding::headline, "1 of 2 valid runs waited for processors."),
                                       Field(&Finding::detail, HasSubstr("these have none, measure them again "
                                                                         "(assay run --again): lora.")))));
  measurements.push_back(RunOf("lora", 1, 131));
  EXPECT_THAT(FindingsOf(measurements),
              Contains(AllOf(Field(&Finding::headline, "1 of 3 valid runs waited for processors."),
                             Field(&Finding::detail, HasSubstr("left out of its values, as everywhere here.")))));
}

TEST(FindingsTest, PairsMustAgreeInEverythingElse) {
  const std::vector<Measurement> measurements = {RunOf("full", 1, 100), RunOf("full", 4, 100), RunOf("lora", 8, 900)};
  const ResultSet results(measurements);
  EXPECT_THAT(MethodPairs(results), ElementsAre());
  EXPECT_THAT(HeadlinesOf(measurements), Not(Contains(HasSubstr("Against full"))));
}

TEST(FindingsTest, WhatAlwaysChangesTogetherIsSaidTogetherAndOnce) {
  std::vector<Measurement> measurements;
  for (int64_t ranks : {1, 2, 4}) {
    for (int64_t batch : {1, 8}) {
      measurements.push_back(With(RunOf("full", batch, 100.0 * static_cast<double>(ranks * batch)),
                                  {{"number_gpus", ranks}, {"number_ranks", ranks}}));
    }
  }
  const std::vector<std::string> headlines = HeadlinesOf(measurements);
  EXPECT_THAT(headlines, Contains("Against GPUs 1 with ranks 1, GPUs 4 with ranks 4 gives 4.00\u00d7 the throughput."));
  EXPECT_THAT(headlines, Not(Contains(StartsWith("Against ranks"))));
}

// The hosts are compared by name, the commits by age: here the one is the other the wrong way round.
TEST(FindingsTest, AComparisonTheOtherWayRoundIsToldAndCountedOnce) {
  std::vector<Measurement> measurements = {OnHost(RunOf("full", 1, 100, 1), "workbench"),
                                           OnHost(RunOf("full", 1, 80, 1), "laptop")};
  measurements[0].provenance["commit"] = "ffff";
  measurements[0].measured_at = "2026-01-01T00:00:00Z";
  measurements[1].provenance["commit"] = "bbbb";
  measurements[1].measured_at = "2026-01-02T00:00:00Z";
  const std::vector<std::string> headlines = HeadlinesOf(measurements);
  EXPECT_THAT(headlines, Contains(StartsWith("Against commit ffff with host workbench")));
  EXPECT_THAT(headlines, Not(Contains(StartsWith("Against host"))));
  const ResultSet results(measurements);
  const std::vector<Metric> metrics = ResolveMetrics(results);
  EXPECT_EQ(FindEffects(results, metrics, Estimates(results, metrics)).comparisons, 1);
}

TEST(FindingsTest, OutOfMemoryAtOneEndLeavesTheRestOfTheNumber) {
  std::vector<Measurement> measurements;
  for (const char* method : {"full", "lora"}) {
    for (int64_t batch : {1, 2, 4}) {
      measurements.push_back(RunOf(method, batch, 100.0 * static_cast<double>(batch)));
    }
    measurements.push_back(MakeInvalid({.method = method, .batch_size = 64}, "out of memory"));
  }
  EXPECT_THAT(HeadlinesOf(measurements),
              Contains("Against batch size 1, batch size 4 gives 4.00\u00d7 the throughput."));
}

TEST(FindingsTest, ABestValueBetweenTheEndsIsNamed) {
  EXPECT_THAT(HeadlinesOf({RunOf("full", 1, 100), RunOf("full", 8, 300), RunOf("full", 64, 200)}),
              ::testing::IsSupersetOf({"Against batch size 1, batch size 64 gives 2.00\u00d7 the throughput.",
                                       "Against batch size 1, batch size 8 gives 3.00\u00d7 the throughput."}));
}

TEST(FindingsTest, TheFastestOfManyIsNeverLeftOut) {
  std::vector<Measurement> measurements;
  for (int i = 0; i < 12; ++i) {
    measurements.push_back(
        With(RunOf("full", 4, 100.0 + i), {{"plugin", i == 0 ? "torch_ddp" : "plugin_" + std::to_string(i + 10)}}));
  }
  const std::vector<std::string> headlines = HeadlinesOf(measurements);
  EXPECT_EQ(headlines[1], "Against torch_ddp, plugin_21 gives 1.11\u00d7 the throughput.");
  EXPECT_THAT(headlines, Contains(HasSubstr("plugin_11 gives")));
}

TEST(FindingsTest, WhatIsLeftOutIsCounted) {
  std::vector<Measurement> measurements;
  for (int i = 0; i < 40; ++i) {
    for (int64_t batch : {1, 2}) {
      measurements.push_back(With(RunOf("full", batch, 100.0 + i + static_cast<double>(batch)),
                                  {{"plugin", "plugin_" + std::to_string(i + 10)}}));
    }
  }
  const std::vector<std::string> headlines = HeadlinesOf(measurements);
  EXPECT_THAT(headlines, Contains(StartsWith("Against batch size 1"))) << "every property has its turn";
  EXPECT_THAT(headlines, Contains("Not listed here: 16 more comparisons."));
}

TEST(FindingsTest, AnotherBaselineServesWhereTheFirstHasNoValues) {
  const std::vector<Measurement> measurements = {
      With(MakeInvalid({.batch_size = 4}, "out of memory"), {{"plugin", std::string("torch_ddp")}}),
      With(RunOf("lora", 4, 100), {{"plugin", std::string("gemini")}}),
      With(RunOf("lora", 4, 150), {{"plugin", std::string("low_level_zero")}})};
  EXPECT_THAT(HeadlinesOf(measurements), Contains("Against gemini, low_level_zero gives 1.50\u00d7 the throughput."));
}

TEST(FindingsTest, EachMachineHasItsFastestAndTheMachinesAreCompared) {
  const std::vector<Measurement> measurements = {
      OnHost(RunOf("full", 1, 100), "server"), OnHost(RunOf("full", 4, 150), "server"),
      OnHost(RunOf("full", 1, 12), "laptop"), OnHost(RunOf("full", 4, 15), "laptop")};
  const std::vector<std::string> headlines = HeadlinesOf(measurements);
  EXPECT_EQ(headlines[0], "Fastest: batch size 4, host server, with 150 real tokens/s.");
  EXPECT_EQ(headlines[1], "Fastest: batch size 4, host laptop, with 15.0 real tokens/s.");
  EXPECT_THAT(headlines, Contains(StartsWith("Against host laptop, host server gives 9.13\u00d7")));
}

TEST(FindingsTest, CommitsAreComparedInTheOrderOfTime) {
  std::vector<Measurement> measurements = {RunOf("full", 1, 100), RunOf("full", 1, 110), RunOf("full", 1, 99)};
  constexpr const char* kCommits[] = {"ffff", "bbbb", "cccc"};
  for (size_t i = 0; i < measurements.size(); ++i) {
    measurements[i].provenance["commit"] = kCommits[i];
    measurements[i].measured_at = "2026-01-0" + std::to_string(i + 1) + "T00:00:00Z";
  }
  EXPECT_THAT(HeadlinesOf(measurements),
              ::testing::IsSupersetOf({"Against commit bbbb, commit cccc gives 0.900\u00d7 the throughput.",
                                       "Against commit ffff, commit bbbb gives 1.10\u00d7 the throughput."}));
}

TEST(FindingsTest, CountWhatHasNoValuesAndWhy) {
  std::vector<Measurement> measurements = DemoSpace();
  measurements[0] = MakeInvalid({.method = "full", .max_length = 128, .batch_size = 1}, "out of memory");
  measurements[1] = MakeInvalid({.method = "full", .max_length = 128, .batch_size = 4}, "out of memory");
  measurements[2] = MakeFailed({.method = "full", .max_length = 256, .batch_size = 1}, "killed");
  const Finding last = FindingsOf(measurements).back();
  EXPECT_EQ(last.headline, "3 of 8 configurations have no values: 2 invalid, 1 failed.");
  EXPECT_EQ(last.detail, "2: out of memory (invalid); 1: killed (failed).");
}

TEST(FindingsTest, NothingValidIsOneFinding) {
  const auto findings = FindingsOf({MakeInvalid({}, "out of memory")});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].headline, "No configuration could be measured: 1 is invalid.");
}

TEST(FindingsTest, NothingMeasuredIsNoFinding) {
  EXPECT_TRUE(FindingsOf({}).empty());
}

}  // namespace
}  // namespace assay::report
