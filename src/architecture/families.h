// The table of model families: what it takes to read a family's config.json.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "architecture/config_reader.h"
#include "architecture/model_config.h"

namespace assay::architecture {

/// A row of the table.
struct ModelFamily {
  std::string_view model_type;    ///< `model_type` of config.json
  std::string_view architecture;  ///< `architectures` of config.json
  std::string_view layer_class;   ///< what transformers calls a layer of its decoder
  /// Fills what the family's keys say, with the defaults that transformers gives to absent ones. A missing key, a value
  /// that makes no sense and a setting that is not supported are the reader's errors; `config` means nothing then.
  void (*read)(ConfigReader& keys, ModelConfig& config);
};

/// Sorted by model_type.
std::span<const ModelFamily> Families();
/// Their model_types, for messages.
std::vector<std::string_view> FamilyNames();

/// The row of `model_type`, or nullptr.
const ModelFamily* FindFamily(std::string_view model_type);

}  // namespace assay::architecture
