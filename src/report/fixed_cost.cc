#include "report/fixed_cost.h"

#include <algorithm>
#include <cmath>

namespace assay::report {
namespace {

using experiment::PublishedFixedCosts;

std::string NameOf(const CostLine& line, const PublishedFixedCosts& published) {
  const auto* name = std::get_if<std::string>(&line.points.front()->At(published.property));
  return name == nullptr ? "" : *name;
}

/// The baseline under the same conditions; nullptr when it was not measured under them.
const CostLine* BaselineOf(const ResultSet& results, const CostLine& line, const std::vector<CostLine>& lines,
                           const PublishedFixedCosts& published) {
  const auto found = std::ranges::find_if(lines, [&](const CostLine& other) {
    return NameOf(other, published) == published.baseline &&
           std::ranges::all_of(results.varying(), [&](const std::string& property) {
             return property == published.property ||
                    results.declared().RoleOf(property) == experiment::Role::kBatchSize ||
                    other.points.front()->At(property) == line.points.front()->At(property);
           });
  });
  return found == lines.end() ? nullptr : &*found;
}

double HalfWidth(const CostLine& line) {
  return line.step_seconds.intercept_interval.high - line.step_seconds.intercept;
}

}  // namespace

std::vector<FixedCost> CompareFixedCosts(const ResultSet& results, const std::vector<CostLine>& lines,
                                         const PublishedFixedCosts& published) {
  std::vector<FixedCost> rows;
  for (const CostLine& line : lines) {
    const auto theirs = published.fixed_seconds.find(NameOf(line, published));
    const CostLine* baseline = BaselineOf(results, line, lines, published);
    if (theirs == published.fixed_seconds.end() || baseline == nullptr) {
      continue;
    }
    const double our_step = baseline->step_seconds.At(published.baseline_batch_size);
    rows.push_back({.line = &line,
                    .baseline = baseline,
                    .beyond_seconds = line.step_seconds.intercept - baseline->step_seconds.intercept,
                    .half_width_seconds = std::hypot(HalfWidth(line), HalfWidth(*baseline)),
                    .published_seconds = theirs->second,
                    .scaled_seconds = theirs->second * our_step / published.baseline_step_seconds});
  }
  return rows;
}

}  // namespace assay::report
