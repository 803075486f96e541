#include "report/cost_table.h"

#include <fmt/format.h>

#include <cmath>

#include "report/format.h"

namespace assay::report {
namespace {

constexpr char kNone[] = "\u2013";

std::string FitOf(const CostLine& line) {
  if (line.sizes < kFewestForFit) {
    return "two points";
  }
  const double r_squared = line.step_seconds.r_squared;
  return std::isfinite(r_squared) ? fmt::format("{:.4f}", r_squared) : kNone;
}

}  // namespace

std::string InMilliseconds(double value, const measure::Interval& interval) {
  const std::string text = Readable(1000 * value);
  return std::isfinite(interval.high) ? fmt::format("{} \u00b1 {}", text, Readable(1000 * (interval.high - value)))
                                      : text;
}

std::string LabelOf(const CostLine& line) {
  return line.label.empty() ? "all" : line.label;
}

std::vector<std::string> CellsOf(const CostLine& line) {
  const measure::LinearFit& fit = line.step_seconds;
  return {fmt::format("{} to {}", Whole(line.smallest_batch), Whole(line.largest_batch)),
          InMilliseconds(fit.intercept, fit.intercept_interval),
          InMilliseconds(fit.slope, fit.slope_interval),
          fit.slope > 0 ? Readable(line.limit_throughput()) : kNone,
          FitOf(line),
          line.memory_gib ? Readable(line.memory_gib->intercept) : kNone,
          line.memory_gib ? Readable(1024 * line.memory_gib->slope) : kNone};
}

std::string TextOf(const Crossing& crossing) {
  return fmt::format("From batch size {} on, {} is faster than {}.", Whole(std::ceil(crossing.batch_size)),
                     crossing.winner->label, crossing.loser->label);
}

}  // namespace assay::report
