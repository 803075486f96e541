#include "engine/kernels/ceilings.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "engine/kernels/products.h"

namespace assay::engine {
namespace {

struct ProductShape {
  int64_t m;
  int64_t k;
  int64_t n;
};

/// Square and layer-like; which of them is fastest depends on the caches and the number of cores.
constexpr std::array<ProductShape, 3> kShapes = {{{2048, 2048, 2048}, {2048, 576, 1536}, {1024, 1024, 4096}}};
/// A GPU needs more work in one product to fill it.
constexpr int64_t kCudaFactor = 4;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one run of `work`, which returns a tensor: the best of as many as fit in `budget`, at least one after a
/// warm-up. Reading an element back waits for an asynchronous device.
template <typename Work>
double best_seconds(const Work& work, double budget) {
  const auto once = [&] { return work().view(-1)[0].template item<float>(); };
  once();
  double best = 0.0;
  const double end = seconds_now() + budget;
  for (int repeat = 0; repeat == 0 || seconds_now() < end; ++repeat) {
    const double start = seconds_now();
    once();
    const double elapsed = seconds_now() - start;
    best = repeat == 0 ? elapsed : std::min(best, elapsed);
  }
  return best;
}

/// Random numbers on a GPU: it draws less power on equal ones, and so runs faster than on any real data.
at::Tensor operand(at::IntArrayRef sizes, const at::TensorOptions& options) {
  return options.device().is_cuda() ? at::randn(sizes, options) : at::ones(sizes, options);
}

}  // namespace

double MeasureCopyBandwidth(c10::Device device, double seconds) {
  const at::NoGradGuard no_grad;
  constexpr int64_t kBytes = int64_t{1} << 30;
  const auto options = at::TensorOptions().device(device).dtype(at::kFloat);
  const at::Tensor source = operand({kBytes / static_cast<int64_t>(sizeof(float))}, options);
  const at::Tensor target = at::empty_like(source);
  return 2.0 * static_cast<double>(kBytes) / best_seconds([&] { return target.copy_(source); }, seconds) / 1e9;
}

std::vector<ProductCeiling> MeasureProductCeilings(c10::Device device, double seconds) {
  const at::NoGradGuard no_grad;
  constexpr std::array<at::ScalarType, 3> kDtypes = {at::kFloat, at::kBFloat16, at::kHalf};
  const std::array<const char*, 3> names = {"float32", "bfloat16", "float16"};
  const double budget = seconds / (kDtypes.size() * kShapes.size());
  const int64_t factor = device.is_cuda() ? kCudaFactor : 1;
  std::vector<ProductCeiling> ceilings;
  for (size_t i = 0; i < kDtypes.size(); ++i) {
    ProductCeiling best{.dtype = names[i]};
    for (const ProductShape& shape : kShapes) {
      const int64_t m = shape.m * factor;
      const int64_t k = shape.k * factor;
      const int64_t n = shape.n * factor;
      const auto options = at::TensorOptions().device(device).dtype(kDtypes[i]);
      const at::Tensor x = operand({m, k}, options);
      const at::Tensor w = operand({n, k}, options);
      const double elapsed = best_seconds([&] { return product_nt(x, w); }, budget);
      const double tflops =
          2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n) / elapsed / 1e12;
      if (tflops > best.tflops) {
        best = {names[i], tflops, m, k, n};
      }
    }
    ceilings.push_back(best);
  }
  return ceilings;
}

}  // namespace assay::engine
