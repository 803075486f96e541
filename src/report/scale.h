// Axes in numbers: where a value lies, and at which round numbers to put the ticks.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

/// Round numbers (1, 2 or 5 times a power of ten apart) within [low, high], about `target` of them; the numbers carry
/// no rounding dust, so 0 is 0. One value when low equals high.
std::vector<double> NiceTicks(double low, double high, size_t target);

/// [low, high] widened to the ticks around it. A range of no width is widened too.
std::pair<double, double> NiceRange(double low, double high, size_t target);

/// Labels of ticks with as many decimals as their distance needs, and thousands separators.
std::vector<std::string> TickLabels(const std::vector<double>& ticks);

/// Maps [low, high] linearly onto [from, to], which may run backwards; values outside are clamped.
class LinearScale {
 public:
  LinearScale(double low, double high, double from, double to);
  double operator()(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double low_;
  double high_;
  double from_;
  double to_;
};

/// `values`, which sit on one axis, moved as little as needed so that neighbours are at least `gap` apart and all lie
/// in [low, high] as far as they fit: for labels beside the ends of lines.
std::vector<double> SpreadOut(std::vector<double> values, double gap, double low, double high);

}  // namespace assay::report
