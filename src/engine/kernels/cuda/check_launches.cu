#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "engine/kernels/cuda/cuda_kernels.h"

namespace assay::engine::cuda {

void check_launches() {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("launching a CUDA kernel failed: CUDA error: ") + cudaGetErrorString(error) +
                             " (was the build made for this GPU? See CMAKE_CUDA_ARCHITECTURES)");
  }
}

}  // namespace assay::engine::cuda
