// Parts of tensors: boxes of indices, and the runs of memory that they are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay::checkpoint {

/// One number a dimension: a shape, offsets, strides in elements.
using Sizes = std::vector<int64_t>;

/// Elements of a tensor whose indices lie between `offsets` and `offsets + sizes`.
struct Box {
  Sizes offsets{};
  Sizes sizes{};
  bool operator==(const Box&) const = default;
};

/// The product; nothing where it or a size does not fit, or a size is negative. 1 without dimensions.
std::optional<int64_t> Elements(const Sizes& sizes);
/// The product of what was checked by Elements().
int64_t Count(const Sizes& sizes);
/// "[2, 3]"
std::string ShapeText(const Sizes& sizes);

Box WholeOf(const Sizes& shape);
/// Whether `box` lies within a tensor of `shape`, with as many dimensions.
bool LiesWithin(const Box& box, const Sizes& shape);
/// Nothing where they have no element in common.
std::optional<Box> Intersect(const Box& a, const Box& b);

/// Strides of elements that lie in row-major order without gaps.
Sizes ContiguousStrides(const Sizes& sizes);
/// Whether elements with those strides lie so; strides of dimensions of size 1 do not matter.
bool IsContiguous(const Sizes& sizes, const Sizes& strides);

/// The elements [begin, begin + count) of a tensor in row-major order as boxes, in that order: at most two a dimension.
/// Each is contiguous in row-major memory. So a flat shard becomes chunks that any reader of boxes understands.
std::vector<Box> BoxesOfFlatRange(const Sizes& shape, int64_t begin, int64_t count);

/// Elements in one step of memory on both sides: `count` of them from element `from` of one to element `to` of the
/// other.
struct Run {
  int64_t from = 0;
  int64_t to = 0;
  int64_t count = 0;
};

/// How a box of `sizes` is copied from memory with `from_strides` to memory with `to_strides`, run by run, rising in
/// `to` where that is row-major. Runs are as long as both sides let them be.
class RunIterator {
 public:
  RunIterator(const Sizes& sizes, const Sizes& from_strides, const Sizes& to_strides);
  /// False after the last one.
  bool Next(Run& run);
  /// Elements of each run.
  int64_t run_elements() const { return run_elements_; }

 private:
  struct Dimension {
    int64_t size;
    int64_t from_stride;
    int64_t to_stride;
  };
  std::vector<Dimension> outer_;  ///< those around a run, the slowest first
  std::vector<int64_t> index_;    ///< of the next run
  int64_t run_elements_ = 1;
  int64_t from_ = 0;
  int64_t to_ = 0;
  bool done_ = false;
};

}  // namespace assay::checkpoint
