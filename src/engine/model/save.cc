#include "engine/model/save.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "architecture/families.h"
#include "base/files.h"
#include "base/json.h"
#include "engine/model/load.h"
#include "engine/model/load_image_classifier.h"
#include "engine/model/remove_file.h"
#include "engine/model/safetensors.h"
#include "engine/model/status_error.h"
#include "engine/model/weights.h"
#include "job/model_folder.h"

namespace assay::engine {
namespace {

/// What belongs to a model besides its config and weights.
constexpr std::array kTokenizerFiles = {
    "tokenizer.json",    "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "tokenizer.model",       "vocab.json",
    "merges.txt",        "chat_template.jinja",   "generation_config.json",
};

constexpr std::array kImageFiles = {"preprocessor_config.json"};
constexpr char kVitArchitecture[] = "ViTForImageClassification";

using Shard = std::vector<NamedTensor>;

/// Consecutive tensors, as many to a shard as fit; a tensor that is larger alone gets a shard of its own.
std::vector<Shard> split_into_shards(const std::vector<NamedTensor>& parameters, int64_t max_bytes) {
  std::vector<Shard> shards(1);
  int64_t bytes = 0;
  for (const NamedTensor& parameter : parameters) {
    const auto more = static_cast<int64_t>(parameter.second.nbytes());
    if (!shards.back().empty() && bytes + more > max_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(parameter);
    bytes += more;
  }
  return shards;
}

std::string shard_name(size_t index, size_t count) {
  return count == 1 ? std::string(job::kWeightsFile)
                    : fmt::format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

AtomicFile stage(const std::string& path, std::string_view content) {
  AtomicFile file = value_or_throw(AtomicFile::Create(path));
  throw_if_error(file.Write(content));
  throw_if_error(file.Sync());
  return file;
}

std::string index_text(const std::vector<Shard>& shards) {
  nlohmann::ordered_json map;
  size_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (const auto& [name, tensor] : shards[i]) {
      map[name] = shard_name(i, shards.size());
      total += tensor.nbytes();
    }
  }
  const nlohmann::json index = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  return DumpJsonPretty(index);
}

/// What makes an earlier save readable goes before its files are replaced one by one: a reader would take a mixture of
/// old and new for a whole save. The new files are on the disk by then. A single file is replaced at once. In the
/// folder that the model came from, the config is that of the new weights too.
void take_earlier_save_apart(const std::string& output_dir, size_t shard_count, bool is_source) {
  if (!is_source) {
    remove_file(output_dir + "/config.json");
  }
  if (shard_count > 1) {
    remove_file(output_dir + "/" + job::kWeightsFile);
    remove_file(output_dir + "/" + job::kWeightsIndexFile);
  }
}

/// Weight files of an earlier save that the new ones do not replace; a reader could take them for the model's.
void remove_stale_weights(const std::string& output_dir, size_t shard_count) {
  std::set<std::string> current;
  for (size_t i = 0; i < shard_count; ++i) {
    current.insert(shard_name(i, shard_count));
  }
  std::error_code error;
  std::filesystem::directory_iterator file(output_dir, error);
  for (; !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
    const std::string name = file->path().filename().string();
    const bool is_weights = name == job::kWeightsFile || name == job::kWeightsIndexFile ||
                            (name.starts_with("model-") && name.ends_with(".safetensors"));
    if (is_weights && !current.contains(name)) {
      remove_file(file->path().string());
    }
  }
  if (error) {
    throw StatusError(ErrnoStatus(error.value(), "read the folder", output_dir));
  }
}

std::string_view dtype_name(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBFloat16:
      return "bfloat16";
    case at::kHalf:
      return "float16";
    default:
      return "float32";
  }
}

std::string config_text(const Checkpoint& checkpoint) {
  nlohmann::json config = value_or_throw(ParseJson(checkpoint.config_json, "config.json"));
  const at::ScalarType dtype = checkpoint.parameters.front().second.scalar_type();
  // transformers 4 knows `torch_dtype`, transformers 5 both.
  config[config.contains("dtype") ? "dtype" : "torch_dtype"] = dtype_name(dtype);
  if (config.contains("dtype")) {
    config.erase("torch_dtype");
  }
  if (!config.contains("architectures")) {
    config["architectures"] = {checkpoint.architecture};
  }
  return DumpJsonPretty(config);
}

bool same_folder(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error);
}

void stage_side_files(const Checkpoint& checkpoint, const std::string& output_dir, std::vector<AtomicFile>& staged) {
  for (const char* name : checkpoint.side_files) {
    if (const std::string source = checkpoint.source_dir + "/" + name; FileExists(source)) {
      staged.push_back(stage(output_dir + "/" + name, value_or_throw(ReadFile(source))));
    }
  }
}

}  // namespace

void save_checkpoint(const Checkpoint& checkpoint, const std::string& output_dir) {
  throw_if_error(MakeDirectories(output_dir));
  const std::vector<Shard> shards = split_into_shards(checkpoint.parameters, checkpoint.max_shard_bytes);
  const bool is_source = !checkpoint.source_dir.empty() && same_folder(checkpoint.source_dir, output_dir);
  std::vector<AtomicFile> staged;
  for (size_t i = 0; i < shards.size(); ++i) {
    staged.push_back(stage_safetensors(output_dir + "/" + shard_name(i, shards.size()), shards[i]));
  }
  const size_t weights = staged.size();
  if (shards.size() > 1) {
    staged.push_back(stage(output_dir + "/" + job::kWeightsIndexFile, index_text(shards)));
  }
  if (!checkpoint.source_dir.empty() && !is_source) {
    stage_side_files(checkpoint, output_dir, staged);
  }
  staged.push_back(stage(output_dir + "/config.json", config_text(checkpoint)));
  take_earlier_save_apart(output_dir, shards.size(), is_source);
  for (size_t i = 0; i < staged.size(); ++i) {
    if (i == weights) {
      remove_stale_weights(output_dir, shards.size());
    }
    throw_if_error(staged[i].Commit());
  }
}

void save_model(const CausalLM& model, const std::string& output_dir) {
  save_model(model, model.parameters(), output_dir, kMaxShardBytes);
}

void save_model(const CausalLM& model, std::vector<NamedTensor> parameters, const std::string& output_dir,
                int64_t max_shard_bytes) {
  save_checkpoint({.parameters = std::move(parameters),
                   .config_json = model.config().json,
                   .architecture = architecture::FindFamily(model.model_type())->architecture,
                   .source_dir = model.config().source_dir,
                   .side_files = kTokenizerFiles,
                   .max_shard_bytes = max_shard_bytes},
                  output_dir);
}

void save_image_classifier(const ImageClassifier& model, const std::string& output_dir) {
  save_image_classifier(model, model.parameters(), output_dir, kMaxShardBytes);
}

void save_image_classifier(const ImageClassifier& model, std::vector<NamedTensor> parameters,
                           const std::string& output_dir, int64_t max_shard_bytes) {
  save_checkpoint({.parameters = std::move(parameters),
                   .config_json = model.config().json,
                   .architecture = kVitArchitecture,
                   .source_dir = model.config().source_dir,
                   .side_files = kImageFiles,
                   .max_shard_bytes = max_shard_bytes},
                  output_dir);
}

}  // namespace assay::engine
