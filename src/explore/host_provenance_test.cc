#include "explore/host_provenance.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace assay::explore {
namespace {

using ::testing::HasSubstr;

class SettingTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SettingTest, IsPartOfTheSettings) {
  ASSERT_EQ(std::getenv(GetParam()), nullptr);
  ::setenv(GetParam(), "something", 1);
  const std::string settings = DescribeSettings(0, 1);
  ::unsetenv(GetParam());
  EXPECT_THAT(settings, HasSubstr(std::string(GetParam()) + "=something"));
  EXPECT_NE(DescribeSettings(0, 1), settings);
}

INSTANTIATE_TEST_SUITE_P(OfTheLibraries, SettingTest,
                         ::testing::Values("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY",
                                           "NVIDIA_TF32_OVERRIDE", "CUDNN_LOGINFO_DBG", "MKL_CBWR", "MKLDNN_VERBOSE",
                                           "OMP_SCHEDULE", "TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT"));

}  // namespace
}  // namespace assay::explore
