// What the device can do at best: the ceilings that training speed is held against.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

namespace assay::engine {

/// The fastest product [m, k] x [k, n] found for a dtype, run the way the engine runs it (float16 goes through float32
/// where the processor has no float16 products).
struct ProductCeiling {
  std::string dtype;  ///< float32, bfloat16, float16
  double tflops = 0;  ///< 10^12 floating-point operations a second, 2 m k n of them in a product
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
};

/// Times a few large shapes per dtype for about `seconds` in all, on libtorch's current threads.
std::vector<ProductCeiling> MeasureProductCeilings(c10::Device device, double seconds = 3.0);

/// 10^9 bytes a second that a copy of 1 GiB within the device's memory reads and writes, the two added up. Takes about
/// `seconds`, and 2 GiB.
double MeasureCopyBandwidth(c10::Device device, double seconds = 0.5);

/// Whether products of this dtype go through float32 on this machine's CPU.
bool products_through_float32(c10::ScalarType dtype);

/// The most bytes of float32 copies that such a product of a linear layer holds while it is made, forward or backward,
/// over `tokens` tokens.
int64_t float32_copy_bytes(int64_t tokens, int64_t inputs, int64_t outputs);

}  // namespace assay::engine
