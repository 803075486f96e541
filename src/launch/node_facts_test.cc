#include "launch/node_facts.h"

#include <gmock/gmock.h>

namespace assay::launch {
namespace {

TEST(CoresText, TellsQuotasApartThatEndWithinACore) {
  measure::MachineInfo machine{.usable_cores = 2};
  EXPECT_EQ(CoresText(machine), "2");
  machine.cpu_quota = 2;
  EXPECT_EQ(CoresText(machine), "2");
  machine.cpu_quota = 1.1;
  EXPECT_EQ(CoresText(machine), "1.1");
  machine.cpu_quota = 8;  // of which the affinity mask leaves two
  EXPECT_EQ(CoresText(machine), "2");
}

}  // namespace
}  // namespace assay::launch
