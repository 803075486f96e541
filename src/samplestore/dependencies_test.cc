#include "samplestore/dependencies.h"

#include <gmock/gmock.h>

namespace assay::samplestore {
namespace {

TEST(DependenciesTest, WhatDependsOnNothingHoldsEverywhere) {
  EXPECT_TRUE(Agrees({}, {{"machine", "a"}}));
}

TEST(DependenciesTest, OnlyWhatHereNamesIsCompared) {
  const Facts depends_on = {{"machine", "a"}, {"commit", "1"}};
  EXPECT_TRUE(Agrees(depends_on, {{"machine", "a"}, {"commit", "1"}, {"settings", "default"}}));
  EXPECT_TRUE(Agrees(depends_on, {{"machine", "a"}}));
  EXPECT_FALSE(Agrees(depends_on, {{"machine", "a"}, {"commit", "2"}}));
  EXPECT_FALSE(Agrees(depends_on, {{"machine", ""}}));
}

TEST(DependenciesTest, RunsAndVerdictsSayWhatJudgedAndOlderVerdictsDoNot) {
  EXPECT_TRUE(SaysWhatJudged({{"machine", "a"}, {"commit", "1"}, {"libtorch", "2"}, {"model_hash", "h"}}));
  EXPECT_TRUE(SaysWhatJudged({{"judged_by", "1"}}));
  EXPECT_FALSE(SaysWhatJudged({}));
  EXPECT_FALSE(SaysWhatJudged({{"commit", "1"}}));
  EXPECT_FALSE(SaysWhatJudged({{"machine", "a"}, {"commit", "1"}, {"model_hash", "h"}}));
}

TEST(DependenciesTest, NamesKindsOfMachines) {
  EXPECT_EQ(MachineKind({}), "");
  EXPECT_EQ(MachineKind({{"cpu", "A"}, {"cores", "2"}, {"memory", "4.00 GiB"}, {"host", "h"}}), "A, 2 cores, 4.00 GiB");
  EXPECT_EQ(MachineKind({{"cpu", "A"}, {"cores", "2"}, {"memory", "4.00 GiB"}, {"gpu", "G, G"}}),
            "A, 2 cores, 4.00 GiB, 2 x G");
}

}  // namespace
}  // namespace assay::samplestore
