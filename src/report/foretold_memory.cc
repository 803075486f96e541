#include "report/foretold_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/format.h"
#include "report/metric.h"
#include "space/number.h"

namespace assay::report {
namespace {

/// What a line may differ in from a point that it foretells.
bool MayDiffer(const ResultSet& results, const std::string& property) {
  return results.declared().RoleOf(property) == experiment::Role::kBatchSize ||
         std::ranges::find(results.conditions(), property) != results.conditions().end();
}

bool IsOfLine(const ResultSet& results, size_t unmeasured, const CostLine& line) {
  const size_t measured = line.points.front()->index;
  return std::ranges::all_of(results.axes(), [&](const Axis& axis) {
    return axis.unmeasured[unmeasured] == axis.codes[measured] || MayDiffer(results, axis.property);
  });
}

std::optional<double> BatchSizeOf(const ResultSet& results, const Configuration& point) {
  return space::NumberOf(point.At(results.declared().PropertyOf(point.coordinates, experiment::Role::kBatchSize)));
}

}  // namespace

std::vector<ForetoldMemory> ForetellMemory(const ResultSet& results, const std::vector<CostLine>& lines) {
  std::vector<ForetoldMemory> foretold;
  for (size_t i = 0; i < results.unmeasured().size(); ++i) {
    const Configuration& point = results.unmeasured()[i];
    const std::optional<double> batch = BatchSizeOf(results, point);
    ForetoldMemory highest{.point = &point};
    for (const CostLine& line : lines) {
      const bool counts = batch && line.memory_gib && line.sizes >= kFewestForFit && IsOfLine(results, i, line);
      if (counts && line.memory_gib->At(*batch) > highest.gib) {
        highest.gib = line.memory_gib->At(*batch);
        highest.sizes = line.sizes;
      }
    }
    if (highest.sizes > 0) {
      foretold.push_back(highest);
    }
  }
  return foretold;
}

std::string ForetoldMemoryText(const ResultSet& results) {
  const std::vector<ForetoldMemory> foretold = ForetellMemory(results, FitCostLines(results, ResolveMetrics(results)));
  if (foretold.empty()) {
    return "";
  }
  const auto [least, most] = std::ranges::minmax_element(foretold, {}, &ForetoldMemory::gib);
  const std::string range =
      least->gib < most->gib ? fmt::format("{} to {}", Readable(least->gib), Readable(most->gib)) : Readable(most->gib);
  return fmt::format("memory: {} GiB of tensors, as foretold for {} of {} by lines through {} batch sizes or more\n",
                     range, foretold.size(), Count(results.unmeasured().size(), "point"), kFewestForFit);
}

}  // namespace assay::report
