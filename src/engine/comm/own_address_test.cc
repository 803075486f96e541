#include "engine/comm/own_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::engine {
namespace {

TEST(OwnAddress, IsNoneThatOtherMachinesTakeForTheirOwn) {
  for (const char* host : {"127.0.0.1", "localhost", "no-such-host.invalid"}) {
    EXPECT_THAT(own_address_towards(host, 29500), ::testing::Not(::testing::StartsWith("127."))) << host;
  }
}

TEST(OwnAddress, IsTheSourceOfWhatIsSentThere) {
  const std::string own = own_address_towards("localhost", 29500);
  if (own.empty()) {
    GTEST_SKIP() << "this machine has no network";
  }
  EXPECT_EQ(own_address_towards(own, 29500), own);
}

}  // namespace
}  // namespace assay::engine
