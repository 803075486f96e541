// Reads rotary position settings; which keys a type has is as in transformers' modeling_rope_utils.py.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "architecture/decoder_keys.h"

namespace assay::architecture {
namespace {

struct RopeTypeName {
  std::string_view name;
  RopeType type;
};

constexpr RopeTypeName kRopeTypes[] = {
    {"default", RopeType::kDefault}, {"linear", RopeType::kLinear}, {"dynamic", RopeType::kDynamic},
    {"yarn", RopeType::kYarn},       {"llama3", RopeType::kLlama3},
};

RopeType ReadRopeType(ConfigReader& rope) {
  // "type" is the spelling of transformers before 4.43.
  const std::string name = rope.TextOr("rope_type", rope.TextOr("type", "default"));
  const auto* row = std::ranges::find(kRopeTypes, std::string_view(name), &RopeTypeName::name);
  if (row == std::end(kRopeTypes)) {
    rope.Fail(fmt::format("rope_type '{}' is not supported, only default, linear, dynamic, yarn and llama3", name));
    return RopeType::kDefault;
  }
  return row->type;
}

void ReadLlama3(ConfigReader& rope, RopeConfig& config) {
  config.low_freq_factor = rope.Positive("low_freq_factor");
  config.high_freq_factor = rope.Positive("high_freq_factor");
  if (config.high_freq_factor <= config.low_freq_factor) {
    rope.Fail(fmt::format("high_freq_factor {} must be greater than low_freq_factor {}", config.high_freq_factor,
                          config.low_freq_factor));
  }
}

void ReadYarn(ConfigReader& rope, RopeConfig& config) {
  // transformers takes 0 for absent in these.
  const auto or_default = [](double value, double absent) { return value == 0 ? absent : value; };
  config.beta_fast = or_default(rope.NonNegativeOr("beta_fast", 0), 32);
  config.beta_slow = or_default(rope.NonNegativeOr("beta_slow", 0), 1);
  config.attention_factor = rope.NonNegativeOr("attention_factor", 0);
  config.mscale = rope.NonNegativeOr("mscale", 0);
  config.mscale_all_dim = rope.NonNegativeOr("mscale_all_dim", 0);
  config.truncate = rope.BooleanOr("truncate", true);
}

void ReadScaling(ConfigReader& keys, ConfigReader& rope, int64_t max_positions, RopeConfig& config) {
  config.type = ReadRopeType(rope);
  config.theta = rope.PositiveOr("rope_theta", config.theta);
  if (rope.PositiveOr("partial_rotary_factor", 1.0) != 1.0) {
    rope.Fail("partial_rotary_factor other than 1 is not supported");
  }
  if (config.type == RopeType::kDefault) {
    return;
  }
  config.factor = rope.Positive("factor");
  if (config.factor < 1) {
    rope.Fail(fmt::format("factor must be at least 1, not {}", config.factor));
  }
  // A value outside the object wins over one inside it, as transformers has it for Phi-3.
  config.original_max_positions = keys.IntegerOr("original_max_position_embeddings", 1,
                                                 rope.IntegerOr("original_max_position_embeddings", 1, max_positions));
  if (config.type == RopeType::kLlama3) {
    ReadLlama3(rope, config);
  }
  if (config.type == RopeType::kYarn) {
    ReadYarn(rope, config);
  }
}

}  // namespace

RopeConfig ReadRopeConfig(ConfigReader& keys, int64_t max_positions, double absent_theta) {
  RopeConfig config;
  config.theta = keys.PositiveOr("rope_theta", absent_theta);
  // `rope_scaling` wins when both stand there, as in transformers.
  auto rope = keys.Object("rope_scaling");
  if (!rope) {
    rope = keys.Object("rope_parameters");
  }
  if (rope && rope->HoldsObjects()) {
    rope->Fail("settings for each type of layer are not supported");
  } else if (rope) {
    ReadScaling(keys, *rope, max_positions, config);
  }
  if (config.theta <= 1) {
    keys.Fail(fmt::format("rope_theta must be greater than 1, not {}", config.theta));
  }
  return config;
}

}  // namespace assay::architecture
