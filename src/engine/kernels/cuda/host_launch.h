// For tests of a build without CUDA: the launches of cuda_kernels.h, done by threads of the host.
#pragma once

#include <cstdint>

namespace assay::engine::cuda {

/// Threads that stand for those of a block or of the grid; 1 at first.
void set_host_team(int64_t threads);

}  // namespace assay::engine::cuda
