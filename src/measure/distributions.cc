#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "measure/significance.h"
#include "measure/statistics.h"

namespace assay::measure {
namespace {

// Continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8) by Lentz's method.
double BetaContinuedFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMaxTerms = 500;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double factor = 1;
    for (const double term : {even, odd}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      factor = c * d;
      fraction *= factor;
    }
    if (std::abs(factor - 1) < std::numeric_limits<double>::epsilon()) {
      break;
    }
  }
  return fraction;
}

// Regularised incomplete beta function I_x(a, b).
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const double log_front = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  // The fraction converges fast on the side of the mean where it is used.
  if (x < (a + 1) / (a + b + 2)) {
    return std::exp(log_front) * BetaContinuedFraction(a, b, x) / a;
  }
  return 1 - std::exp(log_front) * BetaContinuedFraction(b, a, 1 - x) / b;
}

double StudentUpperTail(double t, double degrees_of_freedom) {
  return 0.5 * IncompleteBeta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / (degrees_of_freedom + t * t));
}

// The t >= 0 at which the falling `upper_tail` comes down to `p`.
template <typename UpperTail>
double SolveUpperTail(UpperTail upper_tail, double p) {
  double low = 0;
  double high = 1;
  while (upper_tail(high) > p && high < 1e300) {
    low = high;
    high *= 2;
  }
  // Bisection down to neighbouring numbers.
  for (double middle = 0.5 * (low + high); low < middle && middle < high; middle = 0.5 * (low + high)) {
    (upper_tail(middle) > p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

double NormalQuantile(double p) {
  const auto upper_tail = [](double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); };
  return p < 0.5 ? -SolveUpperTail(upper_tail, p) : SolveUpperTail(upper_tail, 1 - p);
}

double StudentQuantile(double p, double degrees_of_freedom) {
  // Tables ask ten thousand times for the same few.
  constexpr size_t kMostKept = 1000;
  thread_local std::map<std::pair<double, double>, double> kept;
  const auto found = kept.find({p, degrees_of_freedom});
  if (found != kept.end()) {
    return found->second;
  }
  const auto upper_tail = [&](double t) { return StudentUpperTail(t, degrees_of_freedom); };
  const double quantile = p < 0.5 ? -SolveUpperTail(upper_tail, p) : SolveUpperTail(upper_tail, 1 - p);
  if (kept.size() < kMostKept) {
    kept.emplace(std::pair(p, degrees_of_freedom), quantile);
  }
  return quantile;
}

double StudentTwoSided(double t, double degrees_of_freedom) {
  return 2 * StudentUpperTail(std::abs(t), degrees_of_freedom);
}

}  // namespace assay::measure
