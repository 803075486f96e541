// What the bodies of the CUDA kernels are written with. They are plain functions of which nvcc makes code for the GPU;
// a test compiles them for the host and runs them there with a team of threads. Only launches and reductions need a
// GPU.
//
// A *team* is the threads that share a piece of work: rank() and size() split it, sum() and max() combine a value of
// each thread and give every thread the result.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define ASSAY_DEVICE_CODE __device__
#else
#define ASSAY_DEVICE_CODE
#endif

namespace assay::engine::cuda {

/// Neighbouring elements that are loaded and stored as one: 16 bytes at most, aligned to their size.
template <typename T, int kLanes>
struct alignas(sizeof(T) * kLanes) Pack {
  T lane[kLanes];
};

#ifdef __CUDACC__
/// Copies a pack in words of what the GPU loads and stores at once: left to itself the compiler stores 16-bit elements
/// one at a time.
template <typename Target>
__device__ void copy_pack(Target* to, const Target* from) {
  if constexpr (sizeof(Target) % sizeof(uint4) == 0) {
    for (size_t i = 0; i < sizeof(Target) / sizeof(uint4); ++i) {
      reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
    }
  } else {
    *to = *from;
  }
}
#else
template <typename Target>
void copy_pack(Target* to, const Target* from) {
  *to = *from;
}
#endif

template <int kLanes, typename T>
ASSAY_DEVICE_CODE Pack<T, kLanes> load(const T* from) {
  Pack<T, kLanes> pack;
  copy_pack(&pack, reinterpret_cast<const Pack<T, kLanes>*>(from));
  return pack;
}

template <typename T, int kLanes>
ASSAY_DEVICE_CODE void store(T* to, const Pack<T, kLanes>& pack) {
  copy_pack(reinterpret_cast<Pack<T, kLanes>*>(to), &pack);
}

/// The value as a tensor of T would hold it.
template <typename T>
ASSAY_DEVICE_CODE float round_to(float value) {
  return static_cast<float>(static_cast<T>(value));
}

/// The number of elements that a body handles at once, as a type.
template <int kLanes>
struct Lanes {
  static constexpr int kCount = kLanes;
};

/// How many elements stand before the first one at which a pack may begin.
template <int kLanes, typename T>
ASSAY_DEVICE_CODE int64_t elements_before_pack(const T* data) {
  const auto misaligned = reinterpret_cast<uintptr_t>(data) % (kLanes * sizeof(T)) / sizeof(T);
  return misaligned == 0 ? 0 : kLanes - static_cast<int64_t>(misaligned);
}

/// Calls body(index, Lanes<n>) once for every element of [0, count): in packs of kLanes from `lead` on, and one by one
/// before that and at the end. The team shares the work, neighbouring threads taking neighbouring packs; which thread
/// takes an element depends on the arguments alone.
template <int kLanes, typename Team, typename Body>
ASSAY_DEVICE_CODE void for_packs(const Team& team, int64_t count, const Body& body, int64_t lead = 0) {
  const int64_t first = lead < count ? lead : count;
  const int64_t last = count - (count - first) % kLanes;
  for (int64_t i = team.rank(); i < first; i += team.size()) {
    body(i, Lanes<1>{});
  }
  for (int64_t i = first + team.rank() * kLanes; i < last; i += team.size() * kLanes) {
    body(i, Lanes<kLanes>{});
  }
  for (int64_t i = last + team.rank(); i < count; i += team.size()) {
    body(i, Lanes<1>{});
  }
}

}  // namespace assay::engine::cuda
