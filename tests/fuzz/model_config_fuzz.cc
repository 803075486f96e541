// A model's config.json: what is taken makes sense, what is refused says why in one line.
#include <algorithm>
#include <string>
#include <string_view>

#include "architecture/families.h"
#include "architecture/parameters.h"
#include "base/json.h"
#include "engine/model/status_error.h"
#include "engine/model/vit_config.h"
#include "fuzz_input.h"

namespace {

using namespace assay::architecture;
using namespace assay::engine;
using assay::fuzz::Require;

void CheckError(const assay::Status& status) {
  Require(status.message().find('\n') == std::string::npos, "an error is one line");
}

void CheckRope(const RopeConfig& rope) {
  Require(rope.theta > 1 && rope.factor >= 1, "positions turn, and are stretched and not pressed together");
  Require(rope.type != RopeType::kLlama3 || rope.low_freq_factor < rope.high_freq_factor, "the factors are in order");
}

void CheckHybrid(const ModelConfig& config) {
  Require(static_cast<int64_t>(config.mamba_layers.size()) == config.num_layers, "every layer is of a kind");
  if (std::ranges::find(config.mamba_layers, true) != config.mamba_layers.end()) {
    const MambaConfig& mamba = config.mamba;
    Require(mamba.heads > 0 && mamba.heads * mamba.head_dim == mamba.inner, "heads divide the features among them");
    Require(mamba.groups > 0 && mamba.heads % mamba.groups == 0, "groups of heads are whole");
    Require(mamba.state > 0 && mamba.taps > 0, "a state and a convolution have sizes");
    Require(mamba.shortest_step >= 0 && mamba.shortest_step <= mamba.longest_step, "the limits are in order");
  }
}

void CheckDecoder(const ModelConfig& config) {
  Require(config.vocab_size > 0 && config.hidden_size > 0 && config.num_layers > 0, "a model has sizes");
  Require(config.num_query_heads % config.num_key_value_heads == 0, "groups of heads are whole");
  const bool rotates = config.network != Network::kGptBigCode && config.network != Network::kBloom;
  Require(config.head_dim > 0 && (!rotates || config.head_dim % 2 == 0), "half of a head can be turned");
  Require(config.experts_per_token <= config.num_experts, "a token's experts are there");
  Require(config.router_loss_coefficient >= 0, "an uneven choice of experts never counts for less than an even one");
  Require(config.attention_dropout >= 0 && config.attention_dropout < 1, "something is left of what is dropped");
  Require(static_cast<int64_t>(config.layer_windows.size()) == config.num_layers &&
              std::ranges::all_of(config.layer_windows, [](int64_t window) { return window >= 0; }),
          "every layer has its window or none");
  Require(CountParameters(config) >= 0, "a count is none or known");
  if (config.network == Network::kGraniteHybrid) {
    CheckHybrid(config);
  }
  CheckRope(config.rope);
}

/// As a config of each family, whatever its model_type.
void ReadAsEveryFamily(const nlohmann::json& document) {
  for (const ModelFamily& family : Families()) {
    ConfigReader keys(document, "config.json");
    ModelConfig config;
    family.read(keys, config);
    if (keys.status().ok()) {
      CheckDecoder(config);
    } else {
      CheckError(keys.status());
    }
  }
}

void CheckVit(const VitConfig& config) {
  Require(config.image_size % config.patch_size == 0 && config.hidden_size % config.num_heads == 0,
          "patches and heads are whole");
  Require(config.tokens() > 1 && config.num_labels >= 2, "an image has patches, and a class is one of several");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto document = assay::ParseJson(text, "config.json"); document.ok()) {
    ReadAsEveryFamily(*document);
  }
  try {
    CheckVit(parse_vit_config(text, "config.json"));
  } catch (const StatusError& error) {
    CheckError(error.status());
  }
  return 0;
}
