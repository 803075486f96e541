#include "engine/adapter/prompt_tuning.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "architecture/config_reader.h"
#include "architecture/parameters.h"
#include "base/json.h"
#include "engine/adapter/adapter_folder.h"
#include "engine/adapter/trainable.h"
#include "engine/model/random_normal.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

constexpr char kText[] = "TEXT";
constexpr char kRandom[] = "RANDOM";

PromptConfig config_from_options(const job::PromptOptions& options, const std::string& tokenizer) {
  if (options.length < 1) {
    throw_invalid_argument(fmt::format("a prompt needs a length of 1 or more, not {}", options.length));
  }
  if (options.init != "text" && options.init != "random") {
    throw_invalid_argument(fmt::format("a prompt starts as text or random, not as '{}'", options.init));
  }
  const bool from_text = options.init == "text";
  if (from_text && options.init_ids.empty()) {
    throw_invalid_argument(fmt::format("the prompt starts as the text '{}', which has no tokens", options.init_text));
  }
  return {.length = options.length,
          .from_text = from_text,
          .init_text = from_text ? options.init_text : "",
          .tokenizer = from_text ? tokenizer : ""};
}

PromptConfig config_from_folder(const std::string& adapter_dir) {
  const AdapterConfigText config = read_adapter_config(adapter_dir);
  return parse_prompt_config(config.text, config.path);
}

/// The embeddings, without a factor that the model puts on them.
const at::Tensor embeddings_of(const CausalLM& model) {
  for (const auto& [name, parameter] : model.parameters()) {
    if (name == architecture::EmbeddingParameter(model.config()).name) {
      return parameter;
    }
  }
  throw_invalid_argument("a part of a model that does not begin it takes no prompt");
}

at::Tensor embedded_text(const at::Tensor& weight_VH, const std::vector<int64_t>& ids, int64_t length) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < length; ++i) {
    places.push_back(ids[static_cast<size_t>(i) % ids.size()]);
    if (places.back() < 0 || places.back() >= weight_VH.size(0)) {
      throw_invalid_argument(
          fmt::format("the prompt's text holds token id {}, but the model's vocabulary has {} "
                      "entries: use the model's own tokeniser",
                      places.back(), weight_VH.size(0)));
    }
  }
  const at::Tensor index = at::tensor(places, at::TensorOptions(at::kLong).device(weight_VH.device()));
  return weight_VH.detach().index_select(0, index).to(at::kFloat);
}

at::Tensor drawn_prompt(int64_t length, int64_t hidden, uint64_t seed) {
  at::Tensor prompt_PH = at::empty({length, hidden}, at::kFloat);
  fill_normal(prompt_PH, 1.0, stream_key(seed, kPromptName));
  return prompt_PH;
}

at::Tensor prompt_from_folder(const std::string& adapter_dir, int64_t length, int64_t hidden) {
  std::set<std::string> taken;
  return take_tensor(open_adapter_weights(adapter_dir), kPromptName, {length, hidden}, taken).to(at::kFloat);
}

at::Tensor starting_prompt(const at::Tensor& weight_VH, const job::PromptOptions& options, const PromptConfig& config,
                           uint64_t seed) {
  const int64_t hidden = weight_VH.size(1);
  if (weight_VH.is_meta()) {
    return at::empty({config.length, hidden}, at::TensorOptions(at::kFloat).device(at::kMeta));
  }
  if (!options.adapter_dir.empty()) {
    return prompt_from_folder(options.adapter_dir, config.length, hidden);
  }
  return config.from_text ? embedded_text(weight_VH, options.init_ids, config.length)
                          : drawn_prompt(config.length, hidden, seed);
}

}  // namespace

PromptConfig parse_prompt_config(std::string_view text, const std::string& source) {
  const nlohmann::json document = value_or_throw(ParseJson(text, source));
  architecture::ConfigReader keys(document, source);
  if (const std::string type = keys.Text("peft_type"); type != "PROMPT_TUNING") {
    keys.Fail(fmt::format("peft_type '{}' is not supported here, only 'PROMPT_TUNING'", type));
  }
  if (const int64_t modules = keys.IntegerOr("num_transformer_submodules", 1, 1); modules != 1) {
    keys.Fail(fmt::format("num_transformer_submodules is {}, but a language model has 1", modules));
  }
  const std::string init = keys.TextOr("prompt_tuning_init", kRandom);
  PromptConfig config{.length = keys.Integer("num_virtual_tokens", 1),
                      .from_text = init == kText,
                      .init_text = keys.TextOr("prompt_tuning_init_text", ""),
                      .tokenizer = keys.TextOr("tokenizer_name_or_path", "")};
  throw_if_error(keys.status());
  return config;
}

int64_t prompt_length(const job::TunePlan& plan) {
  if (plan.method != "prompt") {
    return 0;
  }
  const job::PromptOptions& options = plan.prompt;
  return options.adapter_dir.empty() ? options.length : config_from_folder(options.adapter_dir).length;
}

PromptConfig apply_prompt(CausalLM& model, const job::PromptOptions& options, const std::string& tokenizer,
                          uint64_t seed) {
  PromptConfig config =
      options.adapter_dir.empty() ? config_from_options(options, tokenizer) : config_from_folder(options.adapter_dir);
  freeze_base(model);
  if (model.begins_model()) {
    const at::Tensor weight_VH = embeddings_of(model);
    model.prompt_PH() = starting_prompt(weight_VH, options, config, seed).to(weight_VH.device()).requires_grad_();
  }
  return config;
}

void save_prompt(const CausalLM& model, const PromptConfig& config, const std::vector<NamedTensor>& weights,
                 const std::string& output_dir) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
  };
  const nlohmann::json document = {
      {"peft_type", "PROMPT_TUNING"},
      {"task_type", "CAUSAL_LM"},
      {"num_virtual_tokens", config.length},
      {"token_dim", model.config().hidden_size},
      {"num_transformer_submodules", 1},
      {"num_attention_heads", model.config().num_query_heads},
      {"num_layers", model.config().num_layers},
      {"prompt_tuning_init", config.from_text ? kText : kRandom},
      {"prompt_tuning_init_text", text_or_null(config.init_text)},
      {"tokenizer_name_or_path", text_or_null(config.tokenizer)},
      {"inference_mode", true},
      {"base_model_name_or_path", model.config().source_dir},
  };
  save_adapter_folder(output_dir, DumpJsonPretty(document), weights);
}

}  // namespace assay::engine
