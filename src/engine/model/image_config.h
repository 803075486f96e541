// What a Hugging Face config.json says about any image classifier.
#pragma once

#include <cstdint>
#include <string>

namespace assay::engine {

/// What a config.json says about any image classifier.
struct ImageModelConfig {
  std::string model_type;
  int64_t image_size = 0;  ///< height and width in pixels
  int64_t num_channels = 0;
  int64_t num_labels = 0;

  std::string source_dir;  ///< the folder it was read from; empty when parsed from text
  std::string json;        ///< the whole config.json, kept so that it is written back with every key it had
};

}  // namespace assay::engine
