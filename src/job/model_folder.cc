#include "job/model_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace assay::job {
namespace {

constexpr std::string_view kAdapterFile = "adapter_model.safetensors";
constexpr std::string_view kWeightEndings[] = {
    ".safetensors", ".safetensors.index.json", ".bin",     ".bin.index.json", ".pth", ".pt",   ".ckpt", ".ckpt.index",
    ".h5",          ".h5.index.json",          ".msgpack", ".gguf",           ".npz", ".onnx", ".nemo", ".distcp"};
/// What training leaves beside weights.
constexpr std::string_view kNoWeights[] = {"training_args", "optimizer", "scheduler", "scaler", "rng_state"};
constexpr std::string_view kOtherTokenizers[] = {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
                                                 "source.spm",      "tekken.json",  "vocab.json",
                                                 "vocab.txt",       "merges.txt",   "bpe.codes"};

bool LooksLikeWeights(const std::string& name) {
  return std::ranges::any_of(kWeightEndings, [&](std::string_view ending) { return name.ends_with(ending); }) &&
         std::ranges::none_of(kNoWeights, [&](std::string_view start) { return name.starts_with(start); });
}

/// Names in `dir` in their order, of folders with "/" at the end.
Result<std::vector<std::string>> NamesIn(const std::string& dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
    std::error_code unknown;
    names.push_back(entry.path().filename().string() + (entry.is_directory(unknown) ? "/" : ""));
  }
  if (error) {
    return ErrnoStatus(error.value(), "read model folder", dir);
  }
  std::ranges::sort(names);
  return names;
}

/// The first file in `dir`, or in a folder of it, that must be weights; empty without one.
Result<std::string> FirstWeights(const std::string& dir) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(dir));
  const auto found = std::ranges::find_if(names, LooksLikeWeights);
  if (found != names.end()) {
    return *found;
  }
  for (const std::string& folder : names) {
    if (folder.ends_with('/')) {
      ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> inner, NamesIn(dir + "/" + folder));
      if (const auto within = std::ranges::find_if(inner, LooksLikeWeights); within != inner.end()) {
        return folder + *within;
      }
    }
  }
  return std::string();
}

Status Unusable(const std::string& model_dir, const std::string& name) {
  const std::string holds = fmt::format("model folder {} holds {} but no {}", model_dir, name, kWeightsFile);
  if (name == kAdapterFile) {
    return Status::Unsupported(holds +
                               ": it is an adapter; give the folder of its base model, and this one as adapter");
  }
  if (name.find('/') != std::string::npos) {
    return Status::Unsupported(
        fmt::format("{}: give the folder that holds the weights, if they are of this form; if these are none of the "
                    "model's, move them elsewhere, and the model gets random weights",
                    holds));
  }
  if (name.ends_with(".safetensors")) {
    return Status::Unsupported(fmt::format("{} and no {}: rename a single file to {}, or bring the index of its shards",
                                           holds, kWeightsIndexFile, kWeightsFile));
  }
  return Status::Unsupported(holds + ": convert it, for example with transformers' save_pretrained");
}

}  // namespace

Result<std::string> FindWeights(const std::string& model_dir) {
  for (const char* name : {kWeightsFile, kWeightsIndexFile}) {
    if (FileExists(model_dir + "/" + name)) {
      return std::string(name);
    }
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string other, FirstWeights(model_dir));
  return other.empty() ? Result<std::string>(other) : Unusable(model_dir, other);
}

Result<std::vector<std::string>> ModelFiles(const std::string& model_dir) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<std::string> names, NamesIn(model_dir));
  std::erase_if(names, [](const std::string& name) {
    return name != "config.json" && !name.ends_with(".safetensors") && !name.ends_with(".safetensors.index.json");
  });
  return names;
}

Result<std::string> FindOtherTokenizer(const std::string& dir) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(dir));
  const auto found = std::ranges::find_if(names, [](const std::string& name) {
    return std::ranges::find(kOtherTokenizers, name) != std::end(kOtherTokenizers) || name.ends_with(".tiktoken");
  });
  return found == names.end() ? std::string() : *found;
}

}  // namespace assay::job
