// A space as a grid of whole numbers, for those who choose points: which values lie near each other, and which do not.
#pragma once

#include <cstdint>
#include <vector>

#include "experiment/point.h"

namespace assay::explore {

/// One dimension: a property, or which experiment.
struct GridAxis {
  int64_t size = 1;
  bool ordered = false;  ///< its values are numbers: neighbours are alike
};

/// Positions are those of BoundSpace::At.
class Grid {
 public:
  explicit Grid(const experiment::BoundSpace& space);
  /// The last axis varies fastest.
  explicit Grid(std::vector<GridAxis> axes) : axes_(std::move(axes)) {}

  const std::vector<GridAxis>& axes() const { return axes_; }
  int64_t size() const;
  std::vector<int64_t> At(int64_t position) const;
  int64_t PositionOf(const std::vector<int64_t>& coordinates) const;
  /// For models: an ordered coordinate as its place from 0 to 1, any other as its number.
  std::vector<double> Features(int64_t position) const;

 private:
  std::vector<GridAxis> axes_;
};

}  // namespace assay::explore
