#include "report/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/format.h"

namespace assay::report {
namespace {

double NiceStep(double range, size_t target) {
  const double raw = range / static_cast<double>(std::max<size_t>(target, 1));
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double fraction = raw / power;
  // Geometric midpoints between 1, 2, 5 and 10, so that the number of ticks is nearest to the target.
  const double nice = fraction < 1.4142 ? 1 : fraction < 3.1623 ? 2 : fraction < 7.0711 ? 5 : 10;
  return nice * power;
}

bool HasWidth(double low, double high) {
  return high - low > 1e-12 * std::max(std::abs(low), std::abs(high));
}

}  // namespace

std::vector<double> NiceTicks(double low, double high, size_t target) {
  if (!HasWidth(low, high)) {
    return {low};
  }
  const double step = NiceStep(high - low, target);
  constexpr double kSlack = 1e-9;  // a bound that is a tick but for rounding counts
  const auto first = static_cast<long long>(std::ceil(low / step - kSlack));
  const auto last = static_cast<long long>(std::floor(high / step + kSlack));
  std::vector<double> ticks;
  for (long long i = first; i <= last; ++i) {
    ticks.push_back(static_cast<double>(i) * step);
  }
  return ticks;
}

std::pair<double, double> NiceRange(double low, double high, size_t target) {
  if (!HasWidth(low, high)) {
    const double margin = low == 0 ? 1 : std::abs(low) / 10;
    low -= margin;
    high += margin;
  }
  const double step = NiceStep(high - low, target);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step};
}

std::vector<std::string> TickLabels(const std::vector<double>& ticks) {
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : std::abs(ticks.empty() ? 0 : ticks[0]);
  const int decimals = step > 0 ? std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9))) : 0;
  std::vector<std::string> labels;
  for (double tick : ticks) {
    labels.push_back(decimals == 0 ? Whole(tick) : fmt::format("{:.{}f}", tick, decimals));
  }
  return labels;
}

LinearScale::LinearScale(double low, double high, double from, double to)
    : low_(low), high_(high), from_(from), to_(to) {}

double LinearScale::operator()(double value) const {
  const double fraction = high_ > low_ ? std::clamp((value - low_) / (high_ - low_), 0.0, 1.0) : 0.5;
  return from_ + fraction * (to_ - from_);
}

std::vector<double> SpreadOut(std::vector<double> values, double gap, double low, double high) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  double floor = low;
  for (size_t i : order) {
    values[i] = std::max(values[i], floor);
    floor = values[i] + gap;
  }
  double ceiling = high;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    values[*i] = std::min(values[*i], ceiling);
    ceiling = values[*i] - gap;
  }
  return values;
}

}  // namespace assay::report
