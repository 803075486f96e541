#include "data/vision_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "job/model_folder.h"

namespace assay::data {
namespace {

constexpr char kFamily[] = "vit";

constexpr std::array<VisionModel, 6> kModels = {{
    {"vit-digits", "for the handwritten digits: 32 pixels in patches of 8, 0.3 M parameters"},
    {"facebook/deit-tiny-patch16-224", "ViT-Ti/16, 5.7 M parameters"},
    {"facebook/deit-small-patch16-224", "ViT-S/16, 22.1 M parameters"},
    {"google/vit-base-patch16-224", "ViT-B/16, 86.6 M parameters: the benchmark's"},
    {"google/vit-large-patch16-224", "ViT-L/16, 304 M parameters"},
    {"google/vit-huge-patch14-224-in21k", "ViT-H/14, 659 M parameters with its 21,843 classes"},
}};

Status ReadShape(const nlohmann::json& config, VitShape& shape) {
  for (const auto& [key, field] : {std::pair{"hidden_size", &shape.hidden_size},
                                   {"num_hidden_layers", &shape.num_hidden_layers},
                                   {"num_attention_heads", &shape.num_attention_heads},
                                   {"intermediate_size", &shape.intermediate_size},
                                   {"image_size", &shape.image_size},
                                   {"patch_size", &shape.patch_size},
                                   {"num_channels", &shape.num_channels},
                                   {"num_labels", &shape.num_labels}}) {
    ASSAY_RETURN_IF_ERROR(ReadField(config, key, *field));
    if (*field < 1 || *field > (int64_t{1} << 24)) {
      return Status::InvalidArgument(fmt::format("{} is {}; expected at least 1", key, *field));
    }
  }
  if (const auto names = config.find("id2label"); names != config.end() && names->is_object()) {
    shape.num_labels = static_cast<int64_t>(names->size());
  }
  ASSAY_RETURN_IF_ERROR(ReadField(config, "qkv_bias", shape.qkv_bias));
  if (shape.num_channels != 3) {
    return Status::Unsupported(fmt::format("num_channels is {}: images have 3", shape.num_channels));
  }
  if (shape.image_size % shape.patch_size != 0 || shape.hidden_size % shape.num_attention_heads != 0) {
    return Status::InvalidArgument(
        fmt::format("image_size {} must divide into patches of {}, and hidden_size {} into {} heads", shape.image_size,
                    shape.patch_size, shape.hidden_size, shape.num_attention_heads));
  }
  return Status::Ok();
}

/// Three numbers of `key`, if it is there.
Status ReadPerChannel(const nlohmann::json& config, const char* key, std::array<double, 3>& numbers) {
  std::vector<double> read(numbers.begin(), numbers.end());
  ASSAY_RETURN_IF_ERROR(ReadField(config, key, read));
  if (read.size() != numbers.size()) {
    return Status::InvalidArgument(fmt::format("{} has {} numbers; expected 3", key, read.size()));
  }
  std::ranges::copy(read, numbers.begin());
  return Status::Ok();
}

Status ReadProcessor(const std::string& path, VisionModelRef& ref) {
  if (!FileExists(path)) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json config, ReadJsonFile(path));
  ASSAY_RETURN_IF_ERROR(ReadPerChannel(config, "image_mean", ref.image_mean).WithContext(path));
  ASSAY_RETURN_IF_ERROR(ReadPerChannel(config, "image_std", ref.image_std).WithContext(path));
  if (std::ranges::any_of(ref.image_std, [](double width) { return !(width > 0); })) {
    return Status::InvalidArgument(path + ": image_std must be above 0");
  }
  return Status::Ok();
}

Result<VisionModelRef> ReadFolder(const std::string& name, const std::string& dir) {
  const std::string path = dir + "/config.json";
  if (!FileExists(path)) {
    return Status::NotFound(fmt::format("model folder {} has no config.json; give a Hugging Face model folder", dir));
  }
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json config, ReadJsonFile(path));
  std::string family;
  ASSAY_RETURN_IF_ERROR(ReadField(config, "model_type", family).WithContext(path));
  if (family != kFamily) {
    return Status::Unsupported(
        fmt::format("{}: {} is no vision transformer; expected model_type vit", path,
                    family.empty() ? "a model without model_type" : "a model of type " + family));
  }
  VisionModelRef ref{.name = name, .dir = dir, .shape = {}};
  ASSAY_RETURN_IF_ERROR(ReadShape(config, ref.shape).WithContext(path));
  ASSAY_RETURN_IF_ERROR(ReadProcessor(dir + "/preprocessor_config.json", ref));
  ASSAY_ASSIGN_OR_RETURN(const std::string weights, job::FindWeights(dir));
  ref.has_weights = !weights.empty();
  return ref;
}

/// The known name that `name` may have been meant for; empty when none is like it.
std::string NearestModel(const std::string& name) {
  std::vector<std::string> known;
  for (const VisionModel& model : kModels) {
    known.emplace_back(model.name);
  }
  return NearestName(name, known);
}

Status UnknownModel(const std::string& name) {
  const std::string nearest = NearestModel(name);
  return Status::NotFound(fmt::format("there is no vision model '{}'{}; give a known name or a folder with config.json",
                                      name, nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest)));
}

}  // namespace

int64_t VitShape::tokens() const {
  const int64_t side = image_size / patch_size;
  return side * side + 1;
}

int64_t VitShape::parameters() const {
  const int64_t patches = num_channels * patch_size * patch_size * hidden_size + hidden_size;
  const int64_t attention = 4 * hidden_size * hidden_size + (qkv_bias ? 4 : 1) * hidden_size;
  const int64_t mlp = 2 * hidden_size * intermediate_size + intermediate_size + hidden_size;
  const int64_t norm = 2 * hidden_size;
  const int64_t head = hidden_size * num_labels + num_labels;
  return patches + (tokens() + 1) * hidden_size + num_hidden_layers * (attention + mlp + 2 * norm) + norm + head;
}

double VitShape::forward_flops() const {
  const auto hidden = static_cast<double>(hidden_size);
  const auto length = static_cast<double>(tokens());
  const double patch = static_cast<double>(num_channels * patch_size * patch_size);
  const double linear = hidden * (4 * hidden + 2 * static_cast<double>(intermediate_size));
  const double layer = length * linear + 2 * length * length * hidden;
  return 2 * ((length - 1) * patch * hidden + static_cast<double>(num_hidden_layers) * layer +
              hidden * static_cast<double>(num_labels));
}

std::span<const VisionModel> VisionModels() {
  return kModels;
}

bool IsVisionModel(const std::string& name_or_dir) {
  if (!IsDirectory(name_or_dir)) {
    return !NearestModel(name_or_dir).empty();
  }
  const Result<nlohmann::json> config = ReadJsonFile(name_or_dir + "/config.json");
  std::string family;
  return config.ok() && ReadField(*config, "model_type", family).ok() && family == kFamily;
}

Result<VisionModelRef> ResolveVisionModel(const std::string& name_or_dir, const std::string& share_dir) {
  if (std::ranges::find(kModels, name_or_dir, &VisionModel::name) != kModels.end()) {
    return ReadFolder(name_or_dir, share_dir + "/models/" + name_or_dir);
  }
  if (IsDirectory(name_or_dir)) {
    return ReadFolder(name_or_dir, name_or_dir);
  }
  return UnknownModel(name_or_dir);
}

}  // namespace assay::data
