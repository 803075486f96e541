// Arithmetic on elements of any dtype, without torch: in double, over stretches of memory.
#pragma once

#include <cstdint>

#include "checkpoint/tensor/dtype.h"
#include "storage/object_store.h"

namespace assay::checkpoint {

/// Sums over elements; two are added for the whole of both.
struct ElementSums {
  double squares = 0;
  int64_t not_finite = 0;  ///< NaN and infinities, which are in no other sum
  void Add(const ElementSums& other) {
    squares += other.squares;
    not_finite += other.not_finite;
  }
};

/// Whether elements are numbers that can be added and compared; quantised, packed and raw bits are not.
bool IsNumeric(DType dtype);

/// How far two stretches of the same dtype are apart, element by element, and the squares of either's absolute values.
struct ElementDifference {
  ElementSums of_a{};
  ElementSums of_b{};
  double squares = 0;          ///< of differences of finite elements
  double largest = 0;          ///< absolute difference of finite elements
  int64_t differing = 0;       ///< elements whose bits differ
  int64_t not_comparable = 0;  ///< of those: where one of the two is not finite
  void Add(const ElementDifference& other);
};
/// Of a numeric dtype.
ElementDifference CompareElements(DType dtype, storage::Bytes a, storage::Bytes b);

}  // namespace assay::checkpoint
