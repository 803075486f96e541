// Where and with what a run computes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::engine {

/// The device for `auto`, `cpu` or `cuda`; `auto` takes a GPU when there is one. Throws StatusError when a GPU is asked
/// for and there is none, or for another name.
c10::Device select_device(std::string_view name);

/// Makes `device` the current one of this thread: what names no index, and kernels without a tensor, then go there.
void use_device(c10::Device device);

/// float32, bfloat16 or float16; throws StatusError for another name.
c10::ScalarType parse_dtype(std::string_view name);

/// Uses `threads` CPU threads; 0 leaves all that the process may use. Throws StatusError on a negative number.
void set_threads(int64_t threads);

/// `host` on `device`, which copies it by itself out of pinned memory: neither waits for the other.
at::Tensor to_device(const at::Tensor& host, c10::Device device);

}  // namespace assay::engine
