// Reads rotary position settings; which keys a type has is as in transformers' modeling_rope_utils.py.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "engine/model/decoder_config.h"

namespace assay::engine {
namespace {

struct RopeTypeName {
  std::string_view name;
  RopeType type;
};

constexpr RopeTypeName kRopeTypes[] = {
    {"default", RopeType::kDefault}, {"linear", RopeType::kLinear}, {"dynamic", RopeType::kDynamic},
    {"yarn", RopeType::kYarn},       {"llama3", RopeType::kLlama3},
};

RopeType read_type(const ConfigReader& rope) {
  // "type" is the spelling of transformers before 4.43.
  const std::string name = rope.text_or("rope_type", rope.text_or("type", "default"));
  const auto* row = std::ranges::find(kRopeTypes, std::string_view(name), &RopeTypeName::name);
  if (row == std::end(kRopeTypes)) {
    rope.fail(fmt::format("rope_type '{}' is not supported, only default, linear, dynamic, yarn and llama3", name));
  }
  return row->type;
}

void read_llama3(const ConfigReader& rope, RopeConfig& config) {
  config.low_freq_factor = rope.positive("low_freq_factor");
  config.high_freq_factor = rope.positive("high_freq_factor");
  if (config.high_freq_factor <= config.low_freq_factor) {
    rope.fail(fmt::format("high_freq_factor {} must be greater than low_freq_factor {}", config.high_freq_factor,
                          config.low_freq_factor));
  }
}

void read_yarn(const ConfigReader& rope, RopeConfig& config) {
  // transformers takes 0 for absent in these.
  const auto or_default = [](double value, double absent) { return value == 0 ? absent : value; };
  config.beta_fast = or_default(rope.non_negative_or("beta_fast", 0), 32);
  config.beta_slow = or_default(rope.non_negative_or("beta_slow", 0), 1);
  config.attention_factor = rope.non_negative_or("attention_factor", 0);
  config.mscale = rope.non_negative_or("mscale", 0);
  config.mscale_all_dim = rope.non_negative_or("mscale_all_dim", 0);
  config.truncate = rope.boolean_or("truncate", true);
}

void read_scaling(const ConfigReader& keys, const ConfigReader& rope, int64_t max_positions, RopeConfig& config) {
  config.type = read_type(rope);
  config.theta = rope.positive_or("rope_theta", config.theta);
  if (rope.positive_or("partial_rotary_factor", 1.0) != 1.0) {
    rope.fail("partial_rotary_factor other than 1 is not supported");
  }
  if (config.type == RopeType::kDefault) {
    return;
  }
  config.factor = rope.positive("factor");
  if (config.factor < 1) {
    rope.fail(fmt::format("factor must be at least 1, not {}", config.factor));
  }
  // A value outside the object wins over one inside it, as transformers has it for Phi-3.
  config.original_max_positions = keys.integer_or(
      "original_max_position_embeddings", 1, rope.integer_or("original_max_position_embeddings", 1, max_positions));
  if (config.type == RopeType::kLlama3) {
    read_llama3(rope, config);
  }
  if (config.type == RopeType::kYarn) {
    read_yarn(rope, config);
  }
}

}  // namespace

RopeConfig read_rope_config(const ConfigReader& keys, int64_t max_positions) {
  RopeConfig config;
  config.theta = keys.positive_or("rope_theta", 10000.0);
  // `rope_scaling` wins when both stand there, as in transformers.
  auto rope = keys.object("rope_scaling");
  if (!rope) {
    rope = keys.object("rope_parameters");
  }
  if (rope) {
    read_scaling(keys, *rope, max_positions, config);
  }
  if (config.theta <= 1) {
    keys.fail(fmt::format("rope_theta must be greater than 1, not {}", config.theta));
  }
  return config;
}

}  // namespace assay::engine
