#include "checkpoint/tensor/elements.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

namespace assay::checkpoint {
namespace {

template <typename T>
storage::Bytes BytesOfVector(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

/// The value of the only element: how far it is from nothing.
double ValueOf(DType dtype, uint64_t bits) {
  const std::vector<uint64_t> element = {bits};
  const auto bytes = BytesOfVector(element).first(static_cast<size_t>(ElementBytes(dtype)));
  const ElementSums sums = CompareElements(dtype, bytes, bytes).of_a;
  return sums.not_finite > 0 ? std::nan("") : std::sqrt(sums.squares);
}

TEST(CompareElements, KnowsEveryFloatOfEightBits) {
  // The largest, the smallest and the odd ones, as torch.finfo has them.
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat8E4M3Fn, 0x7e), 448);
  EXPECT_TRUE(std::isnan(ValueOf(DType::kFloat8E4M3Fn, 0x7f)));
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat8E4M3Fn, 0x01), std::ldexp(1, -9));
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat8E5M2, 0x7b), 57344);
  EXPECT_TRUE(std::isnan(ValueOf(DType::kFloat8E5M2, 0x7c))) << "infinity";
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat8E4M3FnUz, 0x7f), 240);
  EXPECT_TRUE(std::isnan(ValueOf(DType::kFloat8E4M3FnUz, 0x80)));
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat8E5M2FnUz, 0x7f), 57344);
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat8E5M2FnUz, 0x01), std::ldexp(1, -17));
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat8E8M0Fnu, 127), 1);
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat8E8M0Fnu, 0), std::ldexp(1, -127));
}

TEST(CompareElements, KnowsSixteenBitsAndNumbers) {
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat16, 0x3c00), 1);
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat16, 0x0001), std::ldexp(1, -24));
  EXPECT_DOUBLE_EQ(ValueOf(DType::kFloat16, 0x7bff), 65504);
  EXPECT_DOUBLE_EQ(ValueOf(DType::kBFloat16, 0x4049), 3.140625);
  EXPECT_DOUBLE_EQ(ValueOf(DType::kInt8, 0x80), 128);
  EXPECT_DOUBLE_EQ(ValueOf(DType::kUInt8, 0x80), 128);
  EXPECT_DOUBLE_EQ(ValueOf(DType::kInt64, static_cast<uint64_t>(-5)), 5);
  EXPECT_DOUBLE_EQ(ValueOf(DType::kBool, 1), 1);
  EXPECT_DOUBLE_EQ(ValueOf(DType::kComplex64, 0x4080000040400000), 5) << "3 + 4j";
}

TEST(CompareElements, TellsNormsAndTheLargestChange) {
  const std::vector<float> a = {1, 2, -3, 4};
  const std::vector<float> b = {1, 2.5, -3, 1};
  const ElementDifference difference = CompareElements(DType::kFloat32, BytesOfVector(a), BytesOfVector(b));
  EXPECT_DOUBLE_EQ(difference.of_a.squares, 30);
  EXPECT_DOUBLE_EQ(difference.of_b.squares, 1 + 6.25 + 9 + 1);
  EXPECT_DOUBLE_EQ(difference.squares, 9.25);
  EXPECT_DOUBLE_EQ(difference.largest, 3);
  EXPECT_EQ(difference.differing, 2);
}

TEST(CompareElements, CountsWhatIsNotFiniteByItself) {
  const float nan = std::nanf("");
  const std::vector<float> a = {nan, 1, HUGE_VALF};
  const std::vector<float> b = {nan, nan, HUGE_VALF};
  const ElementDifference difference = CompareElements(DType::kFloat32, BytesOfVector(a), BytesOfVector(b));
  EXPECT_EQ(difference.of_a.not_finite, 2);
  EXPECT_EQ(difference.differing, 1) << "the same bits are no change, NaN or not";
  EXPECT_EQ(difference.not_comparable, 1);
  EXPECT_DOUBLE_EQ(difference.squares, 0);
}

TEST(CompareElements, SeesZerosOfBothSigns) {
  const std::vector<float> a = {0.0f};
  const std::vector<float> b = {-0.0f};
  const ElementDifference difference = CompareElements(DType::kFloat32, BytesOfVector(a), BytesOfVector(b));
  EXPECT_EQ(difference.differing, 1);
  EXPECT_DOUBLE_EQ(difference.largest, 0);
}

TEST(IsNumeric, NotOfRawBitsAndQuantisedOnes) {
  EXPECT_TRUE(IsNumeric(DType::kFloat8E5M2));
  EXPECT_TRUE(IsNumeric(DType::kBool));
  EXPECT_FALSE(IsNumeric(DType::kQInt8));
  EXPECT_FALSE(IsNumeric(DType::kBits8));
  EXPECT_FALSE(IsNumeric(DType::kFloat4E2M1FnX2));
}

}  // namespace
}  // namespace assay::checkpoint
