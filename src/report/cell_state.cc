#include "report/cell_state.h"

#include "report/conditions.h"

namespace assay::report {

CellState StateOf(const Configuration& configuration) {
  if (configuration.runs.empty()) {
    return CellState::kMissing;
  }
  switch (configuration.outcome) {
    case samplestore::Outcome::kValid:
      return CellState::kValid;
    case samplestore::Outcome::kFailed:
      return EndedEarly(*configuration.runs.back()) ? CellState::kEndedEarly : CellState::kFailed;
    case samplestore::Outcome::kInvalid:
      break;
  }
  const bool memory = !ProvenanceOf(*configuration.runs.back(), "out_of_memory_found_by").empty();
  return memory ? CellState::kOutOfMemory : CellState::kInvalid;
}

std::string_view ToString(CellState state) {
  constexpr std::string_view kNames[] = {"valid", "invalid", "out_of_memory", "ended_early", "failed", "missing"};
  return kNames[static_cast<int>(state)];
}

std::string_view LabelOf(CellState state) {
  constexpr std::string_view kLabels[] = {"valid", "invalid", "out of memory", "ended early", "failed", "not measured"};
  return kLabels[static_cast<int>(state)];
}

}  // namespace assay::report
