#include "shards/order/numpy_sum.h"

#include <array>
#include <cstddef>

namespace assay::shards {

double NumpySum(std::span<const double> values) {
  constexpr size_t kLanes = 8;
  constexpr size_t kBlock = 128;
  const size_t size = values.size();
  if (size < kLanes) {
    double sum = -0.0;
    for (const double value : values) {
      sum += value;
    }
    return sum;
  }
  if (size > kBlock) {
    const size_t half = size / 2 - size / 2 % kLanes;
    return NumpySum(values.first(half)) + NumpySum(values.subspan(half));
  }
  std::array<double, kLanes> sums{};
  const size_t whole = size - size % kLanes;
  for (size_t i = 0; i < whole; ++i) {
    sums[i % kLanes] = i < kLanes ? values[i] : sums[i % kLanes] + values[i];
  }
  double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (size_t i = whole; i < size; ++i) {
    sum += values[i];
  }
  return sum;
}

}  // namespace assay::shards
