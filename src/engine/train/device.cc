#include "engine/train/device.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include "engine/model/status_error.h"

namespace assay::engine {

c10::Device select_device(std::string_view name) {
  if (name != "auto" && name != "cpu" && name != "cuda") {
    throw StatusError(Status::InvalidArgument(fmt::format("unknown device '{}' (choose auto, cpu or cuda)", name)));
  }
  const bool has_cuda = at::hasCUDA();
  if (name == "cuda" && !has_cuda) {
    throw StatusError(Status::Unsupported(
        "device cuda was asked for, but libtorch sees no CUDA device (check nvidia-smi and that libtorch is a CUDA "
        "build, or use device cpu)"));
  }
  if (!has_cuda || name == "cpu") {
    return c10::Device(c10::kCPU);
  }
  // The allocator's statistics and the random numbers exist from here on.
  at::globalContext().lazyInitDevice(c10::kCUDA);
  return c10::Device(c10::kCUDA, 0);
}

void use_device(c10::Device device) {
  if (device.has_index()) {
    c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  }
}

at::Tensor to_device(const at::Tensor& host, c10::Device device) {
  const bool pins = device.is_cuda() && host.numel() > 0 && !host.is_pinned();
  return (pins ? host.pin_memory() : host).to(device, /*non_blocking=*/true);
}

c10::ScalarType parse_dtype(std::string_view name) {
  if (name == "float32") {
    return c10::kFloat;
  }
  if (name == "bfloat16") {
    return c10::kBFloat16;
  }
  if (name == "float16") {
    return c10::kHalf;
  }
  throw StatusError(
      Status::InvalidArgument(fmt::format("unknown dtype '{}' (choose float32, bfloat16 or float16)", name)));
}

void set_threads(int64_t threads) {
  if (threads < 0) {
    throw StatusError(Status::InvalidArgument(fmt::format("threads is {}: it must be 0 or more", threads)));
  }
  if (threads > 0) {
    at::set_num_threads(static_cast<int>(threads));
  }
}

}  // namespace assay::engine
