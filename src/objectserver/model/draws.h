// Numbers that depend on a seed alone, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::objectserver {

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators").
inline uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

/// Even numbers from one state.
class Draws {
 public:
  explicit Draws(uint64_t state) : state_(state) {}
  /// In [0, 1).
  double Next() {
    state_ = Mix(state_);
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  /// In [0, count); `count` is positive.
  size_t Below(size_t count) { return static_cast<size_t>(Next() * static_cast<double>(count)); }

 private:
  uint64_t state_;
};

}  // namespace assay::objectserver
