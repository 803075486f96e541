#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "engine/kernels/cpu/cpu_kernels.h"

#ifdef ASSAY_X86_KERNELS
#include <cpuid.h>
#endif

namespace assay::engine {
namespace {

struct IsaEntry {
  const CpuKernels* kernels;
  bool (*supported)();
};

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

/// Lowest first.
constexpr std::array<IsaEntry, 4> kIsas = {{{&portable::kKernels, always},
                                            {&avx2::kKernels, has_avx2},
                                            {&avx512::kKernels, has_avx512},
                                            {&avx512bf16::kKernels, has_avx512_bf16}}};
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

constexpr std::array<IsaEntry, 1> kIsas = {{{&portable::kKernels, always}}};
#endif

const CpuKernels* find_isa(std::string_view name) {
  for (const IsaEntry& entry : kIsas) {
    if (name == entry.kernels->isa && entry.supported()) {
      return entry.kernels;
    }
  }
  return nullptr;
}

/// The best supported instruction set, or the one that the environment asks for where it is supported.
const CpuKernels* choose() {
  if (const char* wanted = std::getenv("ASSAY_CPU_ISA"); wanted != nullptr) {
    if (const CpuKernels* kernels = find_isa(wanted); kernels != nullptr) {
      return kernels;
    }
  }
  const CpuKernels* best = nullptr;
  for (const IsaEntry& entry : kIsas) {
    best = entry.supported() ? entry.kernels : best;
  }
  return best;
}

std::atomic<const CpuKernels*> chosen{nullptr};

/// Whether the chosen kernels are those of AVX-512: whoever forces lower ones wants what such a processor would do.
bool chose_avx512() {
  return has_avx512() && std::string_view(cpu_kernels().isa).starts_with("avx512");
}

}  // namespace

const CpuKernels& cpu_kernels() {
  const CpuKernels* kernels = chosen.load(std::memory_order_acquire);
  if (kernels == nullptr) {
    kernels = choose();
    chosen.store(kernels, std::memory_order_release);
  }
  return *kernels;
}

bool force_cpu_isa(const char* isa) {
  const CpuKernels* kernels = find_isa(isa);
  if (kernels != nullptr) {
    chosen.store(kernels, std::memory_order_release);
  }
  return kernels != nullptr;
}

bool has_native_bf16_products() {
  return has_avx512_bf16() && &cpu_kernels() == find_isa("avx512bf16");
}

bool has_fast_bfloat16_matmul() {
  return chose_avx512();
}

bool has_fast_float16_matmul() {
  return chose_avx512() && has_avx512_fp16();
}

}  // namespace assay::engine
