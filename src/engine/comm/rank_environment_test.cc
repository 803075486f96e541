#include "engine/comm/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace assay::engine {
namespace {

using ::testing::HasSubstr;

class RankEnvironmentTest : public ::testing::Test {
 protected:
  static constexpr const char* kNames[] = {"RANK",        "WORLD_SIZE",       "LOCAL_RANK",         "MASTER_ADDR",
                                           "MASTER_PORT", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"};
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : kNames) {
      ::unsetenv(name);
    }
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
  static void set_second_of_two() {
    set("RANK", "1");
    set("WORLD_SIZE", "2");
    set("LOCAL_WORLD_SIZE", "2");
    set("MASTER_ADDR", "127.0.0.1");
    set("MASTER_PORT", "29500");
  }
};

TEST_F(RankEnvironmentTest, NothingSetIsOneRank) {
  const auto environment = read_rank_environment();
  ASSERT_TRUE(environment.ok());
  EXPECT_EQ(environment->world_size, 1);
  EXPECT_TRUE(environment->one_machine());
}

TEST_F(RankEnvironmentTest, ReadsWhatTorchrunSets) {
  set_second_of_two();
  set("TORCHELASTIC_RUN_ID", "job 7");
  const auto environment = read_rank_environment();
  ASSERT_TRUE(environment.ok()) << environment.status().message();
  EXPECT_EQ(environment->rank, 1);
  EXPECT_EQ(environment->local_rank, 1);
  EXPECT_EQ(environment->port, 29500);
  EXPECT_EQ(environment->job, "job 7");
}

TEST_F(RankEnvironmentTest, RanksThatMayLieOnSeveralMachinesMustSayHowManyAreOnThisOne) {
  set_second_of_two();
  ::unsetenv("LOCAL_WORLD_SIZE");
  EXPECT_THAT(read_rank_environment().status().message(), HasSubstr("LOCAL_WORLD_SIZE is not set"));
  set("LOCAL_WORLD_SIZE", "1");
  const auto environment = read_rank_environment();
  ASSERT_TRUE(environment.ok()) << environment.status().message();
  EXPECT_FALSE(environment->one_machine());
  EXPECT_EQ(environment->local_rank, 0);
}

TEST_F(RankEnvironmentTest, NamesTheVariableThatIsWrong) {
  set("RANK", "1");
  EXPECT_THAT(read_rank_environment().status().message(), HasSubstr("WORLD_SIZE is not set"));
  set_second_of_two();
  set("RANK", "2");
  EXPECT_THAT(read_rank_environment().status().message(), "RANK=2: must be a number from 0 to 1");
  set_second_of_two();
  set("MASTER_PORT", "http");
  EXPECT_THAT(read_rank_environment().status().message(), HasSubstr("MASTER_PORT=http: must be a number"));
  set_second_of_two();
  ::unsetenv("MASTER_ADDR");
  EXPECT_THAT(read_rank_environment().status().message(), HasSubstr("MASTER_ADDR is not set"));
}

}  // namespace
}  // namespace assay::engine
