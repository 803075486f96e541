#include "engine/kernels/ceilings.h"

#include <gmock/gmock.h>

namespace assay::engine {
namespace {

TEST(Ceilings, NameEveryDtypeAndAPlausibleRate) {
  const std::vector<ProductCeiling> ceilings = MeasureProductCeilings(c10::Device(c10::kCPU), 0.01);
  std::vector<std::string> dtypes;
  for (const ProductCeiling& ceiling : ceilings) {
    dtypes.push_back(ceiling.dtype);
    EXPECT_GT(ceiling.tflops, 1e-4);
    EXPECT_LT(ceiling.tflops, 1e4);
    EXPECT_GT(ceiling.m * ceiling.k * ceiling.n, 0);
  }
  EXPECT_THAT(dtypes, ::testing::ElementsAre("float32", "bfloat16", "float16"));
}

}  // namespace
}  // namespace assay::engine
