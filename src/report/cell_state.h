// What became of a point, as people tell it apart: memory that was not enough is no rule that forbids.
#pragma once

#include <string_view>

#include "report/result_set.h"

namespace assay::report {

enum class CellState {
  kValid,
  kInvalid,      ///< a rule, a gate or the model forbids it
  kOutOfMemory,  ///< invalid for its own use of memory
  kEndedEarly,   ///< by a rule of the search, for what its first steps showed
  kFailed,
  kMissing,  ///< nobody measured it
};

inline constexpr CellState kCellStates[] = {CellState::kValid,      CellState::kInvalid, CellState::kOutOfMemory,
                                            CellState::kEndedEarly, CellState::kFailed,  CellState::kMissing};

/// Of a configuration without runs kMissing, of others by the run that decides.
CellState StateOf(const Configuration& configuration);

/// "out_of_memory", ...: in models and exports.
std::string_view ToString(CellState state);
/// "out of memory", ...
std::string_view LabelOf(CellState state);

}  // namespace assay::report
