// Work over a list of tensors on the CPU, shared among threads.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace assay::engine {

/// A stretch of one tensor of a list; the list is cut the same way whatever the number of threads.
struct UpdateStretch {
  size_t tensor;
  int64_t begin;
  int64_t end;
};

/// Cuts tensors of the given sizes into stretches, which keep a thread busy for a while and fit in its cache.
inline std::vector<UpdateStretch> cut(const std::vector<int64_t>& sizes, int64_t most = 65536) {
  std::vector<UpdateStretch> stretches;
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (int64_t begin = 0; begin < sizes[i]; begin += most) {
      stretches.push_back({i, begin, std::min(sizes[i], begin + most)});
    }
  }
  return stretches;
}

/// Calls body(number of the stretch, stretch) on libtorch's threads.
template <typename Body>
void for_stretches(const std::vector<UpdateStretch>& stretches, const Body& body) {
  at::parallel_for(0, static_cast<int64_t>(stretches.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      body(i, stretches[i]);
    }
  });
}

}  // namespace assay::engine
