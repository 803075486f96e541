// Who chooses the order in which points of a space are looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace assay::explore {

/// Each point is given out once. Belongs to one thread at a time.
class Sampler {
 public:
  virtual ~Sampler() = default;

  /// The next point by its position in the space; nothing: there is none left.
  virtual std::optional<int64_t> Next() = 0;
  /// What came of a point that was given out: its objectives, of which smaller ones are better; empty where it has none
  /// (it was invalid, or failed, or has too few runs).
  virtual void Tell(int64_t /*position*/, const std::vector<double>& /*objectives*/) {}
};

}  // namespace assay::explore
