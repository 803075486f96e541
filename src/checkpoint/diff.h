// What two checkpoints have in common, and how far the rest is apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/find.h"
#include "checkpoint/tensor/elements.h"

namespace assay::checkpoint {

struct LeafDifference {
  enum class Kind {
    kSame,       ///< to the bit
    kChanged,    ///< a tensor of the same dtype and shape, or a value, with other content
    kOtherForm,  ///< another dtype or shape, or a tensor on one side and a value on the other
    kOnlyInA,
    kOnlyInB,
  };
  std::string name{};
  Kind kind = Kind::kSame;
  std::string in_a{};  ///< "float32 [2, 3]", or a value as a short text; empty where it is not there
  std::string in_b{};
  /// Of tensors of the same numeric dtype and shape.
  std::optional<ElementDifference> elements{};
};

/// Every name of both, in the order of `a` and then of `b`. Tensors are read a few megabytes at a time, on several
/// threads; their content is compared in row-major order, however each side stores it. Leaves are matched by name
/// alone: in which containers they lie is not compared. InvalidArgument for tensors of CheckExpanded().
Result<std::vector<LeafDifference>> Diff(const Checkpoint& a, const Checkpoint& b,
                                         const storage::ProgressCallback& progress = {});

}  // namespace assay::checkpoint
