#include "engine/kernels/op_table.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/vector_math.h"

#ifdef ASSAY_X86_KERNELS
#include <cpuid.h>
#endif

namespace assay::engine {
namespace {

bool always() {
  return true;
}

#ifdef ASSAY_X86_KERNELS
/// GCC 12's __builtin_cpu_supports does not know the name yet: leaf 7, EDX bit 23.
bool avx512_fp16_in_cpuid() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned kAvx512Fp16 = 1U << 23;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kAvx512Fp16) != 0;
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
bool has_avx512_bf16() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16");
}
bool has_avx512_fp16() {
  return has_avx512() && avx512_fp16_in_cpuid();
}
#else
bool has_avx512() {
  return false;
}
bool has_avx512_bf16() {
  return false;
}
bool has_avx512_fp16() {
  return false;
}
#endif

#ifdef ASSAY_CUDA_KERNELS
constexpr const Operations* kCuda = &cuda::kOperations;
#else
/// What libtorch alone brings to a GPU.
constexpr Operations kLibtorchOnCuda{.name = "cuda", .attention = cuda::attention};
constexpr const Operations* kCuda = &kLibtorchOnCuda;
#endif

/// A way to compute on a device. The CPU's rows share their operations, which run on the loops of an instruction set.
struct Row {
  c10::DeviceType device;
  const Operations* operations;
  const CpuKernels* loops;
  bool (*supported)();
};

/// Of one device the later the better.
constexpr auto kRows = std::to_array<Row>({
    {c10::kCPU, &cpu::kOperations, &portable::kKernels, always},
#ifdef ASSAY_X86_KERNELS
    {c10::kCPU, &cpu::kOperations, &avx2::kKernels, has_avx2},
    {c10::kCPU, &cpu::kOperations, &avx512::kKernels, has_avx512},
    {c10::kCPU, &cpu::kOperations, &avx512bf16::kKernels, has_avx512_bf16},
#endif
    {c10::kCUDA, kCuda, nullptr, always},
});

/// The last row of `device` that this machine supports and, with a name, whose instruction set it is; null: none.
const Row* find_row(c10::DeviceType device, const char* isa = nullptr) {
  const Row* found = nullptr;
  for (const Row& row : kRows) {
    const bool named = isa == nullptr || (row.loops != nullptr && std::string_view(isa) == row.loops->isa);
    found = row.device == device && named && row.supported() ? &row : found;
  }
  return found;
}

/// The best instruction set, or the one that the environment asks for where it is supported.
const CpuKernels* choose_loops() {
  const char* wanted = std::getenv("ASSAY_CPU_ISA");
  const Row* row = wanted == nullptr ? nullptr : find_row(c10::kCPU, wanted);
  return (row == nullptr ? find_row(c10::kCPU) : row)->loops;
}

std::atomic<const CpuKernels*> chosen_loops{nullptr};
std::atomic<const Operations*> on_cpu{&cpu::kOperations};

bool has_kernels(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf;
}

/// Whether the chosen loops are those of AVX-512: whoever forces lower ones wants what such a processor would do.
bool chose_avx512() {
  return has_avx512() && std::string_view(cpu_kernels().isa).starts_with("avx512");
}

}  // namespace

const Operations& operations(c10::Device device, at::ScalarType dtype) {
  settle_vector_math();
  if (!has_kernels(dtype)) {
    return reference::kOperations;
  }
  if (device.is_cpu()) {
    return *on_cpu.load(std::memory_order_acquire);
  }
  if (device.is_meta()) {
    return cpu::kOperations;  // whose loops do nothing there
  }
  const Row* row = find_row(device.type());
  return row == nullptr ? reference::kOperations : *row->operations;
}

void use_operations_on_cpu(const Operations* row) {
  on_cpu.store(row == nullptr ? &cpu::kOperations : row, std::memory_order_release);
}

const CpuKernels& cpu_kernels() {
  const CpuKernels* loops = chosen_loops.load(std::memory_order_acquire);
  if (loops == nullptr) {
    loops = choose_loops();
    chosen_loops.store(loops, std::memory_order_release);
  }
  return *loops;
}

bool force_cpu_isa(const char* isa) {
  const Row* row = find_row(c10::kCPU, isa);
  if (row != nullptr) {
    chosen_loops.store(row->loops, std::memory_order_release);
  }
  return row != nullptr;
}

bool has_native_bf16_products() {
  return has_avx512_bf16() && std::string_view(cpu_kernels().isa) == "avx512bf16";
}

bool has_fast_bfloat16_matmul() {
  return chose_avx512();
}

bool has_fast_float16_matmul() {
  return chose_avx512() && has_avx512_fp16();
}

}  // namespace assay::engine
