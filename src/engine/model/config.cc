#include "engine/model/config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/model/config_reader.h"
#include "engine/model/families.h"
#include "engine/model/status_error.h"

namespace assay::engine {

std::vector<std::string> supported_model_types() {
  std::vector<std::string> names;
  for (const ModelFamily& family : model_families()) {
    names.emplace_back(family.model_type);
  }
  return names;
}

ModelConfig parse_model_config(std::string_view json, const std::string& source) {
  const nlohmann::json document = value_or_throw(ParseJson(json, source));
  const ConfigReader keys(document, source);
  ModelConfig config;
  config.model_type = keys.text("model_type");
  const ModelFamily* family = find_model_family(config.model_type);
  if (family == nullptr) {
    throw StatusError(Status::Unsupported(fmt::format("{}: model_type '{}' is not supported, only {}", source,
                                                      config.model_type, Join(supported_model_types(), ", "))));
  }
  family->read(keys, config);
  config.json = std::string(json);
  return config;
}

ModelConfig read_model_config(const std::string& model_dir) {
  const std::string path = config_path(model_dir);
  ModelConfig config = parse_model_config(value_or_throw(ReadFile(path)), path);
  config.source_dir = model_dir;
  return config;
}

}  // namespace assay::engine
