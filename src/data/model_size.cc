#include "data/model_size.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay::data {
namespace {

int64_t ValueBytes(std::string_view dtype) {
  return dtype == "float32" ? 4 : 2;
}

/// Of the gradient and the optimiser's states of one parameter.
int64_t StateBytes(const TrainingKind& training) {
  const int64_t gradient = ValueBytes(training.dtype);
  if (training.optimizer == "sgd") {
    return gradient;
  }
  constexpr int64_t kFloat = sizeof(float);
  const int64_t states = training.optimizer.starts_with("adamw_") ? 2 : 1;
  if (training.dtype == "float16") {
    return gradient + kFloat + states * kFloat;
  }
  return gradient + states * (training.optimizer == "lion_32bit" ? kFloat : gradient);
}

}  // namespace

Status CheckTrainingFits(const ModelRef& model, const TrainingKind& training, int64_t memory_bytes) {
  const auto parameters = static_cast<double>(model.parameters);
  const double weight_bytes = training.quantized_bits > 0 ? static_cast<double>(training.quantized_bits) / 8
                                                          : static_cast<double>(ValueBytes(training.dtype));
  const double weights = model.has_weights ? 0 : parameters * weight_bytes;
  const double states = training.full ? parameters * static_cast<double>(StateBytes(training)) : 0;
  if (memory_bytes <= 0 || weights + states <= static_cast<double>(memory_bytes)) {
    return Status::Ok();
  }
  const char* states_name = training.optimizer == "sgd" ? "gradients" : "gradients and optimizer states";
  return Status::OutOfMemory(fmt::format(
      "{} has {} parameters: {} need {} before any batch, and {} are there; choose a smaller model{}, or a "
      "machine with more memory",
      model.name, FormatCount(model.parameters),
      !training.full      ? "its weights"
      : model.has_weights ? states_name
                          : fmt::format("weights, {}", states_name),
      FormatBytes(weights + states), FormatBytes(static_cast<double>(memory_bytes)), training.full ? " or LoRA" : ""));
}

}  // namespace assay::data
