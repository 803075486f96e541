#include "measure/nvml.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

namespace assay::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(NvmlTest, IsQuietlyAbsent) {
  EXPECT_EQ(Nvml::Load("libno-such-library.so.1"), nullptr);
  EXPECT_EQ(Nvml::Load("libm.so.6"), nullptr);  // a library, but not this one
}

TEST(NvmlTest, DescribesTheGpus) {
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_NE(nvml, nullptr);
  EXPECT_EQ(nvml->driver_version(), "555.42");
  ASSERT_THAT(nvml->gpus(), SizeIs(2));
  EXPECT_EQ(nvml->gpus()[1].name, "Fake GPU 1");
  EXPECT_EQ(nvml->gpus()[1].uuid, "GPU-1a2b");
  EXPECT_EQ(nvml->gpus()[1].memory_bytes, 4000);
}

TEST(NvmlTest, ReadsInOurUnits) {
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_NE(nvml, nullptr);
  const GpuReading first = nvml->Read(0);
  EXPECT_EQ(first.utilization_percent, 40);
  EXPECT_EQ(first.memory_used_bytes, 1000);
  EXPECT_EQ(first.power_watts, 100);
  EXPECT_EQ(first.power_limit_watts, 400);
  EXPECT_NEAR(first.energy_joules, 5001, 100);
  EXPECT_TRUE(std::isnan(nvml->Read(1).energy_joules));
}

class VisibleGpusTest : public ::testing::Test {
 protected:
  ~VisibleGpusTest() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }

  static std::vector<int> With(const char* variable) {
    ::setenv("CUDA_VISIBLE_DEVICES", variable, 1);
    return VisibleGpus({{.index = 0, .name = "a", .uuid = "GPU-0a"}, {.index = 1, .name = "b", .uuid = "GPU-1b"}});
  }
};

TEST_F(VisibleGpusTest, FollowsTheVariableAsCudaDoes) {
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_THAT(VisibleGpus({{.index = 0, .name = "", .uuid = ""}, {.index = 3, .name = "", .uuid = ""}}),
              ElementsAre(0, 3));
  EXPECT_THAT(With("1"), ElementsAre(1));
  EXPECT_THAT(With("1, 0"), ElementsAre(1, 0));
  EXPECT_THAT(With("GPU-1"), ElementsAre(1));
  EXPECT_THAT(With(""), IsEmpty());
  EXPECT_THAT(With("-1"), IsEmpty());
  EXPECT_THAT(With("0,-1,1"), ElementsAre(0));
  EXPECT_THAT(With("7"), IsEmpty());
}

}  // namespace
}  // namespace assay::measure
