#include "engine/kernels/cuda/optimizer_ops.h"

#include <ATen/ATen.h>

#include "engine/kernels/cuda/launch_support.h"

namespace assay::engine::cuda {
namespace {

/// A tensor's part in a launch, and the dtypes that all tensors of one launch share.
struct Item {
  UpdateTensor update;
  Dtype dtype;
  Dtype states;
};

int blocks_for(int64_t count) {
  return static_cast<int>((count + TensorList::kStretch - 1) / TensorList::kStretch);
}

void add(TensorList& list, const UpdateTensor& tensor) {
  list.tensors[list.size] = tensor;
  list.first_block[list.size + 1] = list.first_block[list.size] + blocks_for(tensor.count);
  ++list.size;
}

/// Calls body(list, item) with lists of as many neighbouring items of the same dtypes as one launch takes; `item` is
/// one of the list's.
template <typename Body>
void for_lists(const std::vector<Item>& items, const Body& body) {
  TensorList list{};
  for (size_t i = 0; i < items.size(); ++i) {
    add(list, items[i].update);
    const bool full = list.size == TensorList::kTensors || i + 1 == items.size();
    if (full || items[i + 1].dtype != items[i].dtype || items[i + 1].states != items[i].states) {
      body(list, items[i]);
      list = {};
    }
  }
}

}  // namespace

void adamw(const std::vector<AdamwTensors>& tensors, const std::vector<AdamwArguments>& arguments) {
  std::vector<Item> items;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const AdamwArguments& a = arguments[i];
    items.push_back({.update = {.parameter = a.parameter,
                                .gradient = a.gradient,
                                .first_moment = a.first_moment,
                                .second_moment = a.second_moment,
                                .count = tensors[i].parameter.numel(),
                                .decay = a.decay_factor},
                     .dtype = dtype_of(tensors[i].parameter),
                     .states = dtype_of(tensors[i].first_moment)});
  }
  const AdamwArguments& shared = arguments.front();
  const UpdateScalars scalars{.one_minus_beta1 = shared.one_minus_beta1,
                              .beta2 = shared.beta2,
                              .one_minus_beta2 = shared.one_minus_beta2,
                              .eps = shared.eps,
                              .step_size = shared.step_size,
                              .inverse_correction2 = shared.inverse_correction2,
                              .gradient_scale = shared.gradient_scale};
  for_lists(items, [&](const TensorList& list, const Item& item) {
    on_stream_of(tensors.front().parameter,
                 [&](Stream stream) { launch_adamw(list, scalars, item.dtype, item.states, stream); });
  });
}

void sgd(const std::vector<AdamwTensors>& tensors, const std::vector<SgdArguments>& arguments) {
  std::vector<Item> items;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const SgdArguments& a = arguments[i];
    const Dtype dtype = dtype_of(tensors[i].parameter);
    items.push_back({.update = {.parameter = a.parameter,
                                .gradient = a.gradient,
                                .first_moment = nullptr,
                                .second_moment = nullptr,
                                .count = tensors[i].parameter.numel(),
                                .decay = a.weight_decay},
                     .dtype = dtype,
                     .states = dtype});
  }
  UpdateScalars scalars{};
  scalars.step_size = arguments.front().learning_rate;
  scalars.gradient_scale = arguments.front().gradient_scale;
  for_lists(items, [&](const TensorList& list, const Item& item) {
    on_stream_of(tensors.front().parameter, [&](Stream stream) { launch_sgd(list, scalars, item.dtype, stream); });
  });
}

at::Tensor sum_of_squares(const std::vector<at::Tensor>& tensors) {
  std::vector<Item> items;
  int64_t blocks = 0;
  for (const at::Tensor& tensor : tensors) {
    const Dtype dtype = dtype_of(tensor);
    items.push_back({.update = {.parameter = nullptr,
                                .gradient = tensor.const_data_ptr(),
                                .first_moment = nullptr,
                                .second_moment = nullptr,
                                .count = tensor.numel(),
                                .decay = 0.0F},
                     .dtype = dtype,
                     .states = dtype});
    blocks += blocks_for(tensor.numel());
  }
  const at::Tensor sums = at::empty({blocks}, tensors.front().options().dtype(at::kDouble));
  auto* next = sums.mutable_data_ptr<double>();
  for_lists(items, [&](const TensorList& list, const Item& item) {
    on_stream_of(sums, [&](Stream stream) { launch_sum_of_squares(list, next, item.dtype, stream); });
    next += blocks_of(list);
  });
  return sums.sum();
}

}  // namespace assay::engine::cuda
