#include "engine/comm/kernels/reduction.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <string_view>

#include "engine/kernels/cpu/cpu_kernels.h"

namespace assay::engine {
namespace {

/// Follows the choice of all other kernels, ASSAY_CPU_ISA included.
const ReductionKernels& kernels() {
#ifdef ASSAY_X86_KERNELS
  const std::string_view isa = cpu_kernels().isa;
  if (isa.starts_with("avx512")) {
    return avx512::kReductions;
  }
  if (isa == "avx2") {
    return avx2::kReductions;
  }
#endif
  return portable::kReductions;
}

double larger(double a, double b) {
  return a > b || std::isnan(a) ? a : b;
}

/// float64 is for a handful of scalars: no vectors.
void reduce_float64(const Reduction& r, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    double total = static_cast<const double*>(r.sources[0])[i];
    for (int source = 1; source < r.source_count; ++source) {
      const double value = static_cast<const double*>(r.sources[source])[i];
      total = r.maximum ? larger(total, value) : total + value;
    }
    for (int destination = 0; destination < r.destination_count; ++destination) {
      static_cast<double*>(r.destinations[destination])[i] = total * r.scale;
    }
  }
}

}  // namespace

void reduce(const Reduction& reduction, c10::ScalarType dtype, int64_t count) {
  switch (dtype) {
    case c10::kFloat:
      return kernels().typed[0](reduction, count);
    case c10::kBFloat16:
      return kernels().typed[1](reduction, count);
    case c10::kHalf:
      return kernels().typed[2](reduction, count);
    case c10::kDouble:
      return reduce_float64(reduction, count);
    default:
      TORCH_CHECK(false, "cannot reduce ", dtype, " between ranks: use float32, bfloat16, float16 or float64");
  }
}

}  // namespace assay::engine
