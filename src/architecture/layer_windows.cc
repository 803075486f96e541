// Which layers have a sliding window of keys; as in transformers' configuration_mistral.py and configuration_qwen2.py.
#include <fmt/format.h>

#include "architecture/decoder_keys.h"

namespace assay::architecture {
namespace {

constexpr char kWindowed[] = "sliding_attention";

/// By `layer_types`, which has an entry for each layer.
void ReadWindowsOfTypes(ConfigReader& keys, const std::vector<std::string>& types, int64_t window,
                        ModelConfig& config) {
  if (types.size() != config.layer_windows.size()) {
    keys.Fail(fmt::format("layer_types has {} entries for {} layers", types.size(), config.num_layers));
    return;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != kWindowed && types[i] != "full_attention") {
      keys.Fail(fmt::format("layer_types: '{}' is not supported, only full_attention and {}", types[i], kWindowed));
    }
    if (types[i] == kWindowed && window == 0) {
      keys.Fail(fmt::format("layer_types asks for {}, but there is no sliding_window in use", kWindowed));
    }
    config.layer_windows[i] = types[i] == kWindowed ? window : 0;
  }
}

}  // namespace

int64_t ReadSlidingWindow(ConfigReader& keys) {
  constexpr int64_t kAbsent = 4096;
  return keys.IntegerOr("sliding_window", 1, keys.Contains("sliding_window") ? 0 : kAbsent);
}

void ReadLayerWindows(ConfigReader& keys, ModelConfig& config) {
  constexpr int64_t kAbsentFirst = 28;
  const int64_t window = keys.BooleanOr("use_sliding_window", false) ? ReadSlidingWindow(keys) : 0;
  const int64_t first = keys.IntegerOr("max_window_layers", 0, kAbsentFirst);
  if (const auto types = keys.TextList("layer_types")) {
    ReadWindowsOfTypes(keys, *types, window, config);
    return;
  }
  for (int64_t layer = first; layer < config.num_layers; ++layer) {
    config.layer_windows[static_cast<size_t>(layer)] = window;
  }
}

}  // namespace assay::architecture
