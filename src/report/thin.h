// Curves with fewer points that look the same.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace assay::report {

/// Points (x[i], y[i]) with x ascending, at most about `max_points` of them: of each stretch the lowest and the highest
/// stay, so that no peak is lost. Where y is not finite it is not a number here, so that nothing is drawn across such a
/// hole; of each stretch the first stays too. Points whose x is not finite are dropped; the shorter of x and y counts.
std::vector<std::pair<double, double>> Thin(std::span<const double> x, std::span<const double> y, size_t max_points);

/// Mean over a centred window of `window` values, shorter at the ends. Values that are not
/// finite are left out; where there are no others, the mean is not a number.
std::vector<double> RunningMean(std::span<const double> values, size_t window);

}  // namespace assay::report
