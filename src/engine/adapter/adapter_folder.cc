#include "engine/adapter/adapter_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "engine/model/remove_file.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

constexpr char kWeightsFile[] = "adapter_model.safetensors";

}  // namespace

AdapterConfigText read_adapter_config(const std::string& adapter_dir) {
  if (!IsDirectory(adapter_dir)) {
    throw StatusError(Status::NotFound(
        fmt::format("adapter folder {} does not exist: name a folder that holds {}", adapter_dir, kAdapterConfigFile)));
  }
  const std::string path = adapter_dir + "/" + kAdapterConfigFile;
  return {path, value_or_throw(ReadFile(path))};
}

SafetensorsFile open_adapter_weights(const std::string& adapter_dir) {
  return SafetensorsFile::open(adapter_dir + "/" + kWeightsFile);
}

at::Tensor take_tensor(const SafetensorsFile& file, const std::string& name, const std::vector<int64_t>& shape,
                       std::set<std::string>& taken) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr) {
    throw_invalid_argument(
        fmt::format("{}: tensor '{}' is missing, {} asks for it", file.path(), name, kAdapterConfigFile));
  }
  if (entry->shape != shape) {
    throw_invalid_argument(fmt::format("{}: tensor '{}' is [{}], but the base model and {} ask for [{}]", file.path(),
                                       name, fmt::join(entry->shape, ", "), kAdapterConfigFile,
                                       fmt::join(shape, ", ")));
  }
  if (!at::isFloatingType(entry->dtype)) {
    throw_invalid_argument(fmt::format("{}: tensor '{}' is {}, not of floating point", file.path(), name,
                                       safetensors_dtype_name(entry->dtype)));
  }
  taken.insert(name);
  return file.tensor(*entry).clone();
}

void save_adapter_folder(const std::string& output_dir, const std::string& config_text,
                         const std::vector<NamedTensor>& weights) {
  throw_if_error(MakeDirectories(output_dir));
  const std::string config_path = output_dir + "/" + kAdapterConfigFile;
  AtomicFile file = stage_safetensors(output_dir + "/" + kWeightsFile, weights);
  // Beside the new weights the config of another adapter would be read with another scale.
  if (const Result<std::string> earlier = ReadFile(config_path); !earlier.ok() || *earlier != config_text) {
    remove_file(config_path);
  }
  throw_if_error(file.Commit());
  throw_if_error(WriteFileAtomically(config_path, config_text));
}

}  // namespace assay::engine
