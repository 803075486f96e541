#include "checkpoint/tensor/box.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace assay::checkpoint {
namespace {

/// Removes dimensions that do not matter and joins those that lie one behind the other on both sides.
template <typename Dimension>
std::vector<Dimension> Simplify(const Sizes& sizes, const Sizes& from_strides, const Sizes& to_strides) {
  std::vector<Dimension> dimensions;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const Dimension next = {sizes[d], from_strides[d], to_strides[d]};
    if (next.size == 1) {
      continue;
    }
    if (!dimensions.empty()) {
      Dimension& last = dimensions.back();
      if (last.from_stride == next.from_stride * next.size && last.to_stride == next.to_stride * next.size) {
        last = {last.size * next.size, next.from_stride, next.to_stride};
        continue;
      }
    }
    dimensions.push_back(next);
  }
  return dimensions;
}

}  // namespace

std::optional<int64_t> Elements(const Sizes& sizes) {
  int64_t product = 1;
  bool empty = false;
  for (const int64_t size : sizes) {
    if (size < 0) {
      return std::nullopt;
    }
    empty = empty || size == 0;
    if (size != 0 && __builtin_mul_overflow(product, size, &product)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : product;
}

int64_t Count(const Sizes& sizes) {
  return Elements(sizes).value_or(0);
}

std::string ShapeText(const Sizes& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

Box WholeOf(const Sizes& shape) {
  return {Sizes(shape.size(), 0), shape};
}

bool LiesWithin(const Box& box, const Sizes& shape) {
  if (box.offsets.size() != shape.size() || box.sizes.size() != shape.size()) {
    return false;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (box.offsets[d] < 0 || box.sizes[d] < 0 || box.sizes[d] > shape[d] || box.offsets[d] > shape[d] - box.sizes[d]) {
      return false;
    }
  }
  return true;
}

std::optional<Box> Intersect(const Box& a, const Box& b) {
  Box common = a;
  for (size_t d = 0; d < a.sizes.size(); ++d) {
    const int64_t begin = std::max(a.offsets[d], b.offsets[d]);
    const int64_t end = std::min(a.offsets[d] + a.sizes[d], b.offsets[d] + b.sizes[d]);
    if (end <= begin) {
      return std::nullopt;
    }
    common.offsets[d] = begin;
    common.sizes[d] = end - begin;
  }
  return common;
}

Sizes ContiguousStrides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

bool IsContiguous(const Sizes& sizes, const Sizes& strides) {
  const Sizes wanted = ContiguousStrides(sizes);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > 1 && strides[d] != wanted[d]) {
      return false;
    }
  }
  return true;
}

std::vector<Box> BoxesOfFlatRange(const Sizes& shape, int64_t begin, int64_t count) {
  std::vector<Box> boxes;
  const Sizes strides = ContiguousStrides(shape);
  const int64_t end = begin + count;
  while (begin < end) {
    Box box = {Sizes(shape.size(), 0), Sizes(shape.size(), 1)};
    int64_t rest = begin;
    for (size_t d = 0; d < shape.size(); ++d) {
      box.offsets[d] = rest / strides[d];
      rest %= strides[d];
    }
    // The outermost dimension in which whole rows of what is left begin here.
    size_t d = shape.size();
    while (d > 0 && begin % strides[d - 1] == 0 && strides[d - 1] <= end - begin) {
      --d;
      if (box.offsets[d] != 0) {
        break;
      }
    }
    int64_t taken = 1;
    if (d < shape.size()) {
      const int64_t rows = std::min((end - begin) / strides[d], shape[d] - box.offsets[d]);
      box.sizes[d] = rows;
      for (size_t inner = d + 1; inner < shape.size(); ++inner) {
        box.sizes[inner] = shape[inner];
      }
      taken = rows * strides[d];
    }
    boxes.push_back(std::move(box));
    begin += taken;
  }
  return boxes;
}

RunIterator::RunIterator(const Sizes& sizes, const Sizes& from_strides, const Sizes& to_strides)
    : outer_(Simplify<Dimension>(sizes, from_strides, to_strides)), done_(Count(sizes) == 0) {
  if (!outer_.empty() && outer_.back().from_stride == 1 && outer_.back().to_stride == 1) {
    run_elements_ = outer_.back().size;
    outer_.pop_back();
  }
  index_.assign(outer_.size(), 0);
}

bool RunIterator::Next(Run& run) {
  if (done_) {
    return false;
  }
  run = {from_, to_, run_elements_};
  size_t d = outer_.size();
  while (d > 0) {
    const Dimension& dimension = outer_[d - 1];
    from_ += dimension.from_stride;
    to_ += dimension.to_stride;
    if (++index_[d - 1] < dimension.size) {
      break;
    }
    from_ -= dimension.from_stride * dimension.size;
    to_ -= dimension.to_stride * dimension.size;
    index_[d - 1] = 0;
    --d;
  }
  done_ = d == 0;
  return true;
}

}  // namespace assay::checkpoint
