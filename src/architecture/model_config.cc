#include "architecture/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "architecture/config_reader.h"
#include "architecture/families.h"
#include "base/files.h"
#include "base/json.h"

namespace assay::architecture {

Result<ModelConfig> ParseModelConfig(std::string_view json, const std::string& source) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(json, source));
  ConfigReader keys(document, source);
  ModelConfig config;
  config.model_type = keys.Text("model_type");
  ASSAY_RETURN_IF_ERROR(keys.status());
  const ModelFamily* family = FindFamily(config.model_type);
  if (family == nullptr) {
    return Status::Unsupported(fmt::format("{}: model_type '{}' is not supported, only {}", source, config.model_type,
                                           fmt::join(FamilyNames(), ", ")));
  }
  family->read(keys, config);
  config.quantization = ReadQuantization(keys);
  if (config.quantization.bits > 0 && config.num_experts > 0) {
    keys.Fail("quantization_config: quantised experts are not supported yet, use the unquantised model");
  }
  ASSAY_RETURN_IF_ERROR(keys.status());
  config.json = std::string(json);
  return config;
}

Result<ModelConfig> ReadModelConfig(const std::string& model_dir) {
  ASSAY_ASSIGN_OR_RETURN(const std::string path, ConfigPath(model_dir));
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSAY_ASSIGN_OR_RETURN(ModelConfig config, ParseModelConfig(text, path));
  config.source_dir = model_dir;
  return config;
}

}  // namespace assay::architecture
