#include "explore/compute_ceiling.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace assay::explore {
namespace {

class ComputeCeilingTest : public ::testing::Test {
 protected:
  Result<double> Tflops(const std::string& dtype, int64_t devices = 1) {
    const experiment::CeilingNeed need{
        .dtype = dtype, .threads = 3, .devices = devices, .cache_dir = directory_.path() + "/ceilings"};
    return CeilingTflops(need, [this](int64_t threads) -> Result<nlohmann::json> {
      EXPECT_EQ(threads, 3);
      ++measured_;
      return nlohmann::json{{"products", {{{"dtype", "float32"}, {"tflops", 0.2}}}}};
    });
  }

  TemporaryDirectory directory_ = TemporaryDirectory::Create("ceiling").value();
  int measured_ = 0;
};

TEST_F(ComputeCeilingTest, IsMeasuredOnceAndCountsAllDevices) {
  EXPECT_DOUBLE_EQ(Tflops("float32").value(), 0.2);
  EXPECT_DOUBLE_EQ(Tflops("float32", 4).value(), 0.8);
  EXPECT_EQ(measured_, 1);
}

TEST_F(ComputeCeilingTest, AMissingDtypeIsAnError) {
  EXPECT_EQ(Tflops("float16").status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay::explore
