// The memory of points that were not measured, by what other batch sizes of their series took.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/cost_model.h"
#include "report/result_set.h"

namespace assay::report {

struct ForetoldMemory {
  const Configuration* point = nullptr;  ///< of ResultSet::unmeasured()
  double gib = 0;                        ///< peak tensor memory of a rank
  size_t sizes = 0;                      ///< batch sizes that the line goes through
};

/// Of each unmeasured point of `results` that differs in the batch size alone from a line with kFewestForFit sizes or
/// more, the value of that line; where lines of several machines or commits say so, the highest. Nothing of the others.
std::vector<ForetoldMemory> ForetellMemory(const ResultSet& results, const std::vector<CostLine>& lines);

/// "memory: 0.310 to 1.92 GiB of tensors, as foretold for 3 of 4 points by lines through 3 batch sizes or more" and a
/// line's end; empty where nothing is foretold.
std::string ForetoldMemoryText(const ResultSet& results);

}  // namespace assay::report
