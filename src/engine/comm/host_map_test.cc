#include "engine/comm/host_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/comm/communicator.h"

namespace assay::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

HostIdentity host(const std::string& system, const std::string& group, int local_world_size) {
  return {.build = "1.0 (commit a)",
          .name = "name of " + system,
          .system = system,
          .group = group,
          .local_world_size = local_world_size};
}

TEST(HostMapTest, GroupsOfOneSystemAreMachinesOfTheirOwn) {
  const HostMap map({host("a", "0", 2), host("a", "0", 2), host("a", "1", 1)});
  EXPECT_EQ(map.machines(), 2);
  EXPECT_TRUE(map.one_system());
  EXPECT_THAT(map.ranks_of(0), ElementsAre(0, 1));
  EXPECT_EQ(map.machine_of(2), 1);
}

TEST(HostMapTest, SystemsAreMachinesWhateverTheirGroup) {
  const HostMap map({host("a", "0", 1), host("b", "0", 1)});
  EXPECT_EQ(map.machines(), 2);
  EXPECT_FALSE(map.one_system());
}

TEST(HostMapTest, MachinesOnOneSystemAreCounted) {
  const HostMap map({host("a", "0", 1), host("b", "0", 1), host("a", "1", 1), host("c", "2", 1)});
  EXPECT_EQ(map.machines_on_system_of(0), 2);
  EXPECT_EQ(map.machines_on_system_of(1), 1);
  EXPECT_EQ(map.machines_on_system_of(2), 2);
}

TEST(HostMapTest, RanksMayLieInTurn) {
  const HostMap map({host("a", "0", 2), host("b", "1", 2), host("a", "0", 2), host("b", "1", 2)});
  EXPECT_THAT(map.ranks_of(1), ElementsAre(1, 3));
}

TEST(HostMapTest, RanksThatWereToldSomethingElseAreRefused) {
  EXPECT_THAT(([] { HostMap({host("a", "0", 1), host("a", "0", 1)}); }),
              ThrowsMessage<CommError>(AllOf(HasSubstr("rank 0 was told of 1 ranks on its machine"),
                                             HasSubstr("ranks 0 and 1 are on name of a"), HasSubstr("GROUP_RANK"))));
}

TEST(HostMapTest, RanksOfAnotherBuildAreRefused) {
  HostIdentity other = host("b", "1", 1);
  other.build = "2.0 (commit b)";
  EXPECT_THAT(([&] { HostMap({host("a", "0", 1), other}); }),
              ThrowsMessage<CommError>(AllOf(HasSubstr("rank 1 on name of b is assay-worker 2.0 (commit b)"),
                                             HasSubstr("rank 0 on name of a is 1.0 (commit a)"))));
}

TEST(HostMapTest, DescribesRanksByTheirMachines) {
  const HostMap map({host("a", "0", 2), host("a", "0", 2), host("b", "1", 2), host("b", "1", 2)});
  EXPECT_EQ(map.describe({2, 3}), "machine 1 (name of b: ranks 2 and 3)");
  EXPECT_EQ(map.describe({3}), "rank 3 of machine 1 (name of b)");
  EXPECT_EQ(map.describe({0, 2, 3}), "rank 0 of machine 0 (name of a) and machine 1 (name of b: ranks 2 and 3)");
  const HostMap one({host("a", "0", 2), host("a", "0", 2)});
  EXPECT_EQ(one.describe({1}), "rank 1");
}

TEST(HostMapTest, IdentitiesTravelAsText) {
  const HostIdentity given = host("boot pid net", "3", 8);
  const HostIdentity read = parse_host(to_text(given));
  EXPECT_EQ(read.build, given.build);
  EXPECT_EQ(read.name, given.name);
  EXPECT_EQ(read.system, given.system);
  EXPECT_EQ(read.group, given.group);
  EXPECT_EQ(read.local_world_size, 8);
}

TEST(HostMapTest, WithoutAGroupLaunchersAreTakenToNumberRanksMachineByMachine) {
  RankEnvironment environment;
  environment.rank = 3;
  environment.local_rank = 1;
  const HostIdentity third = own_host(environment);
  environment.rank = 2;
  environment.local_rank = 0;
  EXPECT_EQ(own_host(environment).group, third.group);
  environment.group = "7";
  EXPECT_EQ(own_host(environment).group, "7");
  EXPECT_EQ(own_host(environment).system, third.system);
}

}  // namespace
}  // namespace assay::engine
