#include <ATen/ATen.h>

#include "engine/kernels/cuda/launch_support.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/update_arguments.h"

namespace assay::engine::cuda {
namespace {

/// A tensor's part in a launch, and the dtypes that all tensors of one launch share.
struct Item {
  UpdateTensor update;
  AdamwDtypes dtypes;
};

AdamwDtypes all_of(Dtype dtype) {
  return {dtype, dtype, dtype, dtype};
}

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
    if (full || items[i + 1].dtypes != items[i].dtypes) {
      body(list, items[i]);
      list = {};
    }
  }
}

AdamwDtypes dtypes_of(const AdamwTensors& t) {
  return {.parameter = dtype_of(t.parameter),
          .gradient = dtype_of(t.gradient),
          .states = dtype_of(t.first_moment),
          .copy = dtype_of(t.narrow())};
}

}  // namespace

void adamw(const std::vector<AdamwTensors>& tensors, const AdamwScalars& adamw_scalars, const GradientRule& rule) {
  std::vector<Item> items;
  for (const AdamwTensors& t : tensors) {
    const AdamwArguments a = adamw_arguments(t, adamw_scalars);
    items.push_back({.update = {.parameter = a.parameter,
                                .gradient = a.gradient,
                                .first_moment = a.first_moment,
                                .second_moment = a.second_moment,
                                .copy = a.copy,
                                .count = t.parameter.numel(),
                                .decay = a.decay_factor},
                     .dtypes = dtypes_of(t)});
  }
  const AdamwArguments shared = adamw_arguments(tensors.front(), adamw_scalars);
  const UpdateScalars scalars{.one_minus_beta1 = shared.one_minus_beta1,
                              .beta2 = shared.beta2,
                              .one_minus_beta2 = shared.one_minus_beta2,
                              .eps = shared.eps,
                              .step_size = shared.step_size,
                              .inverse_correction2 = shared.inverse_correction2,
                              .first_step = shared.first_step,
                              .rule = plain(rule)};
  for_lists(items, [&](const TensorList& list, const Item& item) {
    on_stream_of(tensors.front().parameter, [&](Stream stream) { launch_adamw(list, scalars, item.dtypes, stream); });
  });
}

void sgd(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay,
         const GradientRule& rule) {
  std::vector<Item> items;
  for (const AdamwTensors& t : tensors) {
    items.push_back({.update = {.parameter = t.parameter.mutable_data_ptr(),
                                .gradient = t.gradient.const_data_ptr(),
                                .first_moment = nullptr,
                                .second_moment = nullptr,
                                .copy = nullptr,
                                .count = t.parameter.numel(),
                                .decay = static_cast<float>(t.decay ? weight_decay : 0.0)},
                     .dtypes = all_of(dtype_of(t.parameter))});
  }
  UpdateScalars scalars{};
  scalars.step_size = static_cast<float>(learning_rate);
  scalars.rule = plain(rule);
  for_lists(items, [&](const TensorList& list, const Item& item) {
    on_stream_of(tensors.front().parameter,
                 [&](Stream stream) { launch_sgd(list, scalars, item.dtypes.gradient, stream); });
  });
}

at::Tensor gradient_stats(const std::vector<at::Tensor>& tensors) {
  std::vector<Item> items;
  int64_t blocks = 0;
  for (const at::Tensor& tensor : tensors) {
    const Dtype dtype = dtype_of(tensor);
    items.push_back({.update = {.parameter = nullptr,
                                .gradient = tensor.const_data_ptr(),
                                .first_moment = nullptr,
                                .second_moment = nullptr,
                                .copy = nullptr,
                                .count = tensor.numel(),
                                .decay = 0.0F},
                     .dtypes = all_of(dtype)});
    blocks += blocks_for(tensor.numel());
  }
  const at::Tensor sums = at::empty({blocks, 2}, tensors.front().options().dtype(at::kDouble));
  auto* next = sums.mutable_data_ptr<double>();
  for_lists(items, [&](const TensorList& list, const Item& item) {
    on_stream_of(sums, [&](Stream stream) { launch_gradient_sums(list, next, item.dtypes.gradient, stream); });
    next += 2 * blocks_of(list);
  });
  return sums.sum(0);
}

}  // namespace assay::engine::cuda
