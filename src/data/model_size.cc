#include "data/model_size.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace assay::data {
namespace {

/// An integer of the config; `otherwise` where it is missing, null or no integer.
int64_t IntegerOr(const nlohmann::json& config, const char* key, int64_t otherwise) {
  const auto found = config.find(key);
  return found != config.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

constexpr int64_t kMistralKeyHeads = 8;  // where its config does not say

bool IsMistral(const nlohmann::json& config) {
  const auto found = config.find("model_type");
  return found != config.end() && *found == "mistral";
}

/// 0 where a factor is no size.
int64_t Product(int64_t a, int64_t b) {
  constexpr int64_t kMost = INT32_MAX;
  return a < 1 || b < 1 || a > kMost || b > kMost ? 0 : a * b;
}

bool IsTrue(const nlohmann::json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_boolean() && found->get<bool>();
}

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
  return training.dtype == "float16" ? gradient + kFloat + 2 * kFloat : gradient + 2 * gradient;
}

}  // namespace

int64_t CountDecoderParameters(const nlohmann::json& config) {
  const int64_t hidden = IntegerOr(config, "hidden_size", 0);
  const int64_t inner = IntegerOr(config, "intermediate_size", 0);
  const int64_t layers = IntegerOr(config, "num_hidden_layers", 0);
  const int64_t heads = IntegerOr(config, "num_attention_heads", 0);
  const int64_t vocabulary = IntegerOr(config, "vocab_size", 0);
  const int64_t key_heads = IntegerOr(config, "num_key_value_heads", IsMistral(config) ? kMistralKeyHeads : heads);
  const int64_t head = IntegerOr(config, "head_dim", heads > 0 ? hidden / heads : 0);
  const int64_t queries = Product(heads, head);
  const int64_t keys = Product(key_heads, head);
  // Products of three such sizes, and some sums of them, are within 64 bits.
  constexpr int64_t kMost = int64_t{1} << 20;
  for (const int64_t size : {hidden, inner, layers, vocabulary, queries, keys}) {
    if (size < 1 || size > kMost) {
      return 0;
    }
  }
  const int64_t attention =
      2 * hidden * (queries + keys) + (IsTrue(config, "attention_bias") ? queries + 2 * keys + hidden : 0);
  const int64_t mlp = 3 * hidden * inner + (IsTrue(config, "mlp_bias") ? 2 * inner + hidden : 0);
  const int64_t embeddings = (IsTrue(config, "tie_word_embeddings") ? 1 : 2) * vocabulary * hidden;
  return embeddings + layers * (attention + mlp + 2 * hidden) + hidden;
}

Status CheckTrainingFits(const ModelRef& model, const TrainingKind& training, int64_t memory_bytes) {
  const auto parameters = static_cast<double>(model.parameters);
  const double weights = model.has_weights ? 0 : parameters * static_cast<double>(ValueBytes(training.dtype));
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
