#include <cstddef>
#include <utility>

#include "engine/kernels/cpu/cpu_kernels.h"

namespace assay::engine {
namespace {

/// Any kernel of the table, as one that does nothing.
struct NoWork {
  template <typename R, typename... Arguments>
  using Kernel = R (*)(Arguments...);
  template <typename R, typename... Arguments>
  constexpr operator Kernel<R, Arguments...>() const {  // NOLINT: implicit, so that it fills every slot
    return [](Arguments...) -> R { return R(); };
  }
};

template <size_t... slot>
constexpr TypedKernels fill(std::index_sequence<slot...>) {
  return {(static_cast<void>(slot), NoWork{})...};
}

}  // namespace

const TypedKernels& loops_without_work() {
  static constexpr TypedKernels kLoops = fill(std::make_index_sequence<sizeof(TypedKernels) / sizeof(void (*)())>());
  return kLoops;
}

}  // namespace assay::engine
