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

bool IsTrue(const nlohmann::json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

int64_t CountDecoderParameters(const nlohmann::json& config) {
  const int64_t hidden = IntegerOr(config, "hidden_size", 0);
  const int64_t inner = IntegerOr(config, "intermediate_size", 0);
  const int64_t layers = IntegerOr(config, "num_hidden_layers", 0);
  const int64_t heads = IntegerOr(config, "num_attention_heads", 0);
  const int64_t vocabulary = IntegerOr(config, "vocab_size", 0);
  constexpr int64_t kMost = int64_t{1} << 20;
  for (const int64_t size : {hidden, inner, layers, heads}) {
    if (size < 1 || size > kMost) {
      return 0;
    }
  }
  const int64_t head = IntegerOr(config, "head_dim", hidden / heads);
  const int64_t queries = heads * head;
  const int64_t keys = IntegerOr(config, "num_key_value_heads", heads) * head;
  const int64_t attention =
      2 * hidden * (queries + keys) + (IsTrue(config, "attention_bias") ? queries + 2 * keys + hidden : 0);
  const int64_t mlp = 3 * hidden * inner + (IsTrue(config, "mlp_bias") ? 2 * inner + hidden : 0);
  const int64_t embeddings = (IsTrue(config, "tie_word_embeddings") ? 1 : 2) * vocabulary * hidden;
  return embeddings + layers * (attention + mlp + 2 * hidden) + hidden;
}

Status CheckTrainingFits(const ModelRef& model, bool full, std::string_view dtype, int64_t memory_bytes) {
  const int64_t value_bytes = dtype == "float32" ? 4 : 2;
  const int64_t weights = model.has_weights ? 0 : model.parameters * value_bytes;
  const int64_t states = full ? model.parameters * (value_bytes + 2 * int64_t{sizeof(float)}) : 0;
  if (memory_bytes <= 0 || weights + states <= memory_bytes) {
    return Status::Ok();
  }
  return Status::OutOfMemory(
      fmt::format("{} has {} parameters: {} need {} before any batch, and {} are there; choose a smaller model{}, or a "
                  "machine with more memory",
                  model.name, FormatCount(model.parameters),
                  !full               ? "its weights"
                  : model.has_weights ? "gradients and optimizer states"
                                      : "weights, gradients and optimizer states",
                  FormatBytes(static_cast<double>(weights + states)), FormatBytes(static_cast<double>(memory_bytes)),
                  full ? " or LoRA" : ""));
}

}  // namespace assay::data
