#include "experiment/vit_flops.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay::experiment {

Result<VitShape> ReadVitShape(const std::string& model_dir) {
  const std::string path = model_dir + "/config.json";
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json config, ReadJsonFile(path));
  VitShape shape;
  const std::pair<const char*, int64_t*> fields[] = {
      {"image_size", &shape.image_size},    {"patch_size", &shape.patch_size},
      {"num_channels", &shape.channels},    {"hidden_size", &shape.hidden_size},
      {"num_hidden_layers", &shape.layers}, {"intermediate_size", &shape.intermediate_size}};
  for (const auto& [name, field] : fields) {
    const auto found = config.find(name);
    if (found == config.end()) {
      continue;
    }
    if (!found->is_number_integer() || found->get<int64_t>() < 1) {
      return Status::InvalidArgument(path + ": " + name + " must be an integer of at least 1, not " + found->dump());
    }
    *field = found->get<int64_t>();
  }
  if (const auto labels = config.find("id2label"); labels != config.end() && labels->is_object()) {
    shape.labels = static_cast<int64_t>(labels->size());
  }
  return shape;
}

double VitForwardFlops(const VitShape& shape) {
  const double tokens = static_cast<double>(shape.patches() + 1);
  const double hidden = static_cast<double>(shape.hidden_size);
  const double projections = 4 * 2 * tokens * hidden * hidden;
  const double mlp = 2 * 2 * tokens * hidden * static_cast<double>(shape.intermediate_size);
  const double attention = 2 * 2 * tokens * tokens * hidden;
  const double patch_inputs = static_cast<double>(shape.channels * shape.patch_size * shape.patch_size);
  const double patches = 2 * static_cast<double>(shape.patches()) * patch_inputs * hidden;
  const double head = 2 * hidden * static_cast<double>(shape.labels);
  return static_cast<double>(shape.layers) * (projections + mlp + attention) + patches + head;
}

}  // namespace assay::experiment
