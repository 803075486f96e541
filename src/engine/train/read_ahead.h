// What reads a training's samples ahead of its steps, as those see it that wait for it.
#pragma once

#include <cstdint>

namespace assay::engine {

/// Used by one thread at a time.
class ReadAhead {
 public:
  virtual ~ReadAhead() = default;

  /// Whether this rank's samples of step `step` (from 1) are there, or why they never will be.
  virtual bool is_ready(int64_t step) const = 0;
  /// Returns when they are, however long a store takes over it. Throws StatusError where reading cannot begin.
  virtual void await(int64_t step) = 0;
};

}  // namespace assay::engine
