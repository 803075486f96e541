#include "explore/compute_ceiling.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace assay::explore {
namespace {

class ComputeCeilingTest : public ::testing::Test {
 protected:
  Result<double> Tflops(const std::string& dtype, int64_t devices = 1, double reached = 0) {
    const experiment::CeilingNeed need{
        .dtype = dtype, .threads = 3, .devices = devices, .cache_dir = directory_.path() + "/ceilings"};
    const auto measure = [this](int64_t threads) -> Result<nlohmann::json> {
      EXPECT_EQ(threads, 3);
      ++measured_;
      return nlohmann::json{{"products", {{{"dtype", "float32"}, {"tflops", tflops_}}}}};
    };
    return CeilingTflops(need, measure, reached);
  }

  TemporaryDirectory directory_ = TemporaryDirectory::Create("ceiling").value();
  int measured_ = 0;
  double tflops_ = 0.2;
};

TEST_F(ComputeCeilingTest, IsMeasuredOnceAndCountsAllDevices) {
  EXPECT_DOUBLE_EQ(Tflops("float32").value(), 0.2);
  EXPECT_DOUBLE_EQ(Tflops("float32", 4).value(), 0.8);
  EXPECT_EQ(measured_, 1);
}

TEST_F(ComputeCeilingTest, OneThatARunWentBeyondIsMeasuredAgainAndTheFasterKept) {
  EXPECT_DOUBLE_EQ(Tflops("float32", 2, 0.3).value(), 0.4);
  tflops_ = 0.5;
  EXPECT_DOUBLE_EQ(Tflops("float32", 2, 0.6).value(), 1.0);
  tflops_ = 0.1;
  EXPECT_DOUBLE_EQ(Tflops("float32", 2, 1.1).value(), 1.0);
  EXPECT_DOUBLE_EQ(Tflops("float32").value(), 0.5);
  EXPECT_EQ(measured_, 3);
}

TEST_F(ComputeCeilingTest, AMissingDtypeIsAnError) {
  EXPECT_EQ(Tflops("float16").status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay::explore
