// Steps on shapes: what a step takes in memory, found by going through it on tensors without storage.
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>
#include <memory>

namespace assay::engine {

/// While it lives, tensors of the "meta" device are counted as if they lay in the CPU's memory, and the kernels' and
/// autograd's operations on them allocate what they would allocate there, though they compute nothing: a step on shapes
/// leaves the count that the same step leaves in LiveTensorBytes(). Ids and targets of a batch stay on the CPU, where
/// they are read. One at a time in a process, and only where no other thread uses such tensors.
class ShapeMemory {
 public:
  ShapeMemory();
  ~ShapeMemory();
  ShapeMemory(const ShapeMemory&) = delete;
  ShapeMemory& operator=(const ShapeMemory&) = delete;

  int64_t live_bytes() const;
  /// The most since the last reset_peak(), or since the start.
  int64_t peak_bytes() const;
  void reset_peak();

 private:
  struct Operations;
  std::unique_ptr<Operations> operations_;  ///< those that libtorch has not, or does otherwise, on such tensors
};

/// While it lives, the peak of ShapeMemory stays what it is, and what is taken beside is counted here. May be nested.
class ScratchShapes {
 public:
  ScratchShapes();
  ~ScratchShapes();
  ScratchShapes(const ScratchShapes&) = delete;
  ScratchShapes& operator=(const ScratchShapes&) = delete;

  /// The most that was alive since the start, beyond what is now: what was taken and given back. 0 without ShapeMemory.
  int64_t bytes() const;

 private:
  int64_t peak_before_;
};

/// While it lives, tensors of the "meta" device are made without being counted: pages of a file, for example.
class UncountedShapes {
 public:
  UncountedShapes();
  ~UncountedShapes();
  UncountedShapes(const UncountedShapes&) = delete;
  UncountedShapes& operator=(const UncountedShapes&) = delete;
};

}  // namespace assay::engine
