#include "data/model_catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "architecture/families.h"
#include "architecture/parameters.h"
#include "base/files.h"
#include "base/json.h"
#include "job/hub_cache.h"
#include "job/model_folder.h"

namespace assay::data {
namespace {

using enum ModelStatus;

// The names of the reference's SFTTrainer experiments (IBM/ado, plugins/actuators/sfttrainer, models.yaml and docs),
// those added to its table later, the two larger SmolLM2, and Qwen. Sorted by name.
constexpr std::array<CatalogueModel, 49> kModels = {{
    {"allam-1-13b", "llama", kNotPublished, true, ""},
    {"granite-13b-v2", "gpt_bigcode", kNotPublished, true, ""},
    {"granite-20b-v2", "gpt_bigcode", kNotPublished, true, ""},
    {"granite-3-8b", "granite", kAvailable, true, "ibm-granite/granite-3.0-8b-base"},
    {"granite-3.0-1b-a400m-base", "granitemoe", kAvailable, false, "ibm-granite/granite-3.0-1b-a400m-base"},
    {"granite-3.1-2b", "granite", kAvailable, true, "ibm-granite/granite-3.1-2b-base"},
    {"granite-3.1-3b-a800m-instruct", "granitemoe", kAvailable, true, "ibm-granite/granite-3.1-3b-a800m-instruct"},
    {"granite-3.1-8b-instruct", "granite", kAvailable, true, "ibm-granite/granite-3.1-8b-instruct"},
    {"granite-3.3-8b", "granite", kAvailable, true, "ibm-granite/granite-3.3-8b-base"},
    {"granite-34b-code-base", "gpt_bigcode", kAvailable, true, "ibm-granite/granite-34b-code-base-8k"},
    {"granite-3b-1.5", "", kNotPublished, true, ""},
    {"granite-3b-code-base-128k", "llama", kAvailable, true, "ibm-granite/granite-3b-code-base-128k"},
    {"granite-4.0-1b", "granitemoehybrid", kAvailable, false, "ibm-granite/granite-4.0-1b"},
    {"granite-4.0-350m", "granitemoehybrid", kAvailable, true, "ibm-granite/granite-4.0-350m"},
    {"granite-4.0-h-1b", "granitemoehybrid", kAvailable, true, "ibm-granite/granite-4.0-h-1b"},
    {"granite-4.0-h-micro", "granitemoehybrid", kAvailable, true, "ibm-granite/granite-4.0-h-micro"},
    {"granite-4.0-h-small", "granitemoehybrid", kAvailable, true, "ibm-granite/granite-4.0-h-small"},
    {"granite-4.0-h-tiny", "granitemoehybrid", kAvailable, true, "ibm-granite/granite-4.0-h-tiny"},
    {"granite-4.0-micro", "granitemoehybrid", kAvailable, true, "ibm-granite/granite-4.0-micro"},
    {"granite-7b-base", "llama", kAvailable, true, "ibm-granite/granite-7b-base"},
    {"granite-8b-code-base", "llama", kAvailable, true, "ibm-granite/granite-8b-code-base-4k"},
    {"granite-8b-code-base-128k", "llama", kAvailable, true, "ibm-granite/granite-8b-code-base-128k"},
    {"granite-8b-code-instruct", "llama", kAvailable, false, "ibm-granite/granite-8b-code-instruct-4k"},
    {"granite-8b-japanese", "llama", kNotPublished, true, ""},
    {"granite-vision-3.2-2b", "llava_next", kFamilyUnsupported, true, "ibm-granite/granite-vision-3.2-2b"},
    {"hf-tiny-model-private/tiny-random-BloomForCausalLM", "bloom", kNotPublished, true, ""},
    {"llama-13b", "llama", kAvailable, true, "huggyllama/llama-13b"},
    {"llama-7b", "llama", kAvailable, true, "huggyllama/llama-7b"},
    {"llama2-70b", "llama", kAvailable, true, "meta-llama/Llama-2-70b-hf"},
    {"llama3-70b", "llama", kAvailable, true, "meta-llama/Meta-Llama-3-70B"},
    {"llama3-8b", "llama", kAvailable, true, "meta-llama/Meta-Llama-3-8B"},
    {"llama3.1-405b", "llama", kAvailable, true, "meta-llama/Llama-3.1-405B"},
    {"llama3.1-70b", "llama", kAvailable, true, "meta-llama/Llama-3.1-70B"},
    {"llama3.1-8b", "llama", kAvailable, true, "meta-llama/Llama-3.1-8B"},
    {"llama3.2-1b", "llama", kAvailable, false, "meta-llama/Llama-3.2-1B"},
    {"llama3.2-3b", "llama", kAvailable, false, "meta-llama/Llama-3.2-3B"},
    {"llava-v1.6-mistral-7b", "llava_next", kFamilyUnsupported, true, "llava-hf/llava-v1.6-mistral-7b-hf"},
    {"mistral-123b-v2", "mistral", kAvailable, true, "mistralai/Mistral-Large-Instruct-2407"},
    {"mistral-7b-v0.1", "mistral", kAvailable, true, "mistralai/Mistral-7B-v0.1"},
    {"mixtral-8x7b-instruct-v0.1", "mixtral", kAvailable, true, "mistralai/Mixtral-8x7B-Instruct-v0.1"},
    {"qwen2.5-0.5b", "qwen2", kAvailable, false, "Qwen/Qwen2.5-0.5B"},
    {"qwen2.5-1.5b", "qwen2", kAvailable, false, "Qwen/Qwen2.5-1.5B"},
    {"qwen2.5-7b", "qwen2", kAvailable, false, "Qwen/Qwen2.5-7B"},
    {"qwen3-0.6b", "qwen3", kAvailable, false, "Qwen/Qwen3-0.6B"},
    {"qwen3-1.7b", "qwen3", kAvailable, false, "Qwen/Qwen3-1.7B"},
    {"qwen3-8b", "qwen3", kAvailable, false, "Qwen/Qwen3-8B"},
    {"smollm2-1.7b", "llama", kAvailable, false, "HuggingFaceTB/SmolLM2-1.7B"},
    {"smollm2-135m", "llama", kAvailable, true, "HuggingFaceTB/SmolLM2-135M"},
    {"smollm2-360m", "llama", kAvailable, false, "HuggingFaceTB/SmolLM2-360M"},
}};

const CatalogueModel* Find(std::string_view name) {
  const auto it = std::ranges::find(kModels, name, &CatalogueModel::name);
  return it == kModels.end() ? nullptr : &*it;
}

Status Unavailable(const CatalogueModel& model) {
  if (model.status == kFamilyUnsupported) {
    return Status::Unsupported(
        fmt::format("{} is known, but its family {} is not supported yet; supported families: {}", model.name,
                    model.family, fmt::join(architecture::FamilyNames(), ", ")));
  }
  return Status::Unsupported(fmt::format(
      "{} is known, but its configuration is not public and not shipped; give a folder with its config.json",
      model.name));
}

Status UnknownModel(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return Status::NotFound(
        fmt::format("there is no model folder {}; give a folder with config.json or a known name{}", name,
                    job::IsHubRepository(name) ? fmt::format(", or fetch it: assay model pull {}", name) : ""));
  }
  std::vector<std::string> known;
  for (const CatalogueModel& model : kModels) {
    known.emplace_back(model.name);
  }
  const std::string nearest = NearestName(name, known);
  return Status::NotFound(fmt::format("there is no model '{}'{}; give a known name or a folder with config.json", name,
                                      nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest)));
}

/// The ids of another tokeniser mean nothing to weights that were trained with their own.
Status ChooseTokenizer(const std::string& share_dir, ModelRef& ref) {
  if (FileExists(ref.dir + "/tokenizer.json")) {
    ref.tokenizer_dir = ref.dir;
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string other, job::FindOtherTokenizer(ref.dir));
  if (!other.empty()) {
    ref.no_tokenizer = fmt::format(
        "model folder {} holds its tokenizer as {}, which cannot be read: make a tokenizer.json, for example with "
        "transformers' AutoTokenizer.from_pretrained(...).save_pretrained(...), or give rows of token ids",
        ref.dir, other);
  } else if (ref.has_weights) {
    ref.no_tokenizer = fmt::format(
        "model folder {} holds weights but no tokenizer.json: add the one that they were trained with, or give rows of "
        "token ids",
        ref.dir);
  } else {
    ref.tokenizer_dir = FallbackTokenizerDir(share_dir);
  }
  return Status::Ok();
}

/// Where a repository of a hub lies on this machine, with its weights: what else of one may be here (a configuration
/// that transformers looked at) stands for no model. Empty where it does not.
std::string FetchedFolder(std::string_view repository) {
  const std::string folder = job::FindHubSnapshot(job::HubCacheDirectory(), repository);
  if (folder.empty()) {
    return "";
  }
  const auto weights = job::FindWeights(folder);
  return weights.ok() && weights->empty() ? "" : folder;
}

/// Reads what is needed to choose a model; the engine checks the rest when it builds it.
Result<ModelRef> ReadModelFolder(const std::string& name, const std::string& dir, const std::string& share_dir) {
  const std::string path = dir + "/config.json";
  if (!FileExists(path)) {
    return Status::NotFound(fmt::format("model folder {} has no config.json; give a Hugging Face model folder", dir));
  }
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json config, ReadJsonFile(path));
  ModelRef ref{.name = name, .dir = dir};
  if (!config.is_object()) {
    return Status::InvalidArgument(fmt::format("{} is not a JSON object", path));
  }
  ASSAY_RETURN_IF_ERROR(ReadField(config, "model_type", ref.family).WithContext(path));
  ASSAY_RETURN_IF_ERROR(ReadField(config, "vocab_size", ref.vocab_size).WithContext(path));
  if (architecture::FindFamily(ref.family) == nullptr) {
    return Status::Unsupported(fmt::format("{}: {} is not supported; supported families: {}", path,
                                           ref.family.empty() ? "a model without model_type" : "family " + ref.family,
                                           fmt::join(architecture::FamilyNames(), ", ")));
  }
  if (ref.vocab_size <= 0) {
    return Status::InvalidArgument(fmt::format("{}: vocab_size is {}; expected at least 1", path, ref.vocab_size));
  }
  const auto parsed = architecture::ReadModelConfig(dir);
  ref.parameters = parsed.ok() ? architecture::CountParameters(*parsed) : 0;
  ref.quantized_bits = parsed.ok() ? parsed->quantization.bits : 0;
  ASSAY_ASSIGN_OR_RETURN(const std::string weights, job::FindWeights(dir));
  ref.has_weights = !weights.empty();
  ASSAY_RETURN_IF_ERROR(ChooseTokenizer(share_dir, ref));
  return ref;
}

}  // namespace

std::span<const CatalogueModel> ModelCatalogue() {
  return kModels;
}

std::vector<std::string> DefaultLoraTargets(std::string_view name) {
  constexpr std::array<std::string_view, 3> kQueryKey = {"llama-13b", "llama-7b", "llama3-8b"};
  const CatalogueModel* model = Find(name);
  if (model != nullptr && model->family == "gpt_bigcode") {
    return {"c_attn", "c_proj"};
  }
  if (model != nullptr && model->family == "bloom") {
    return {"dense_h_to_4h", "dense_4h_to_h"};
  }
  const bool query_key = std::ranges::find(kQueryKey, name) != kQueryKey.end();
  return {"q_proj", query_key ? "k_proj" : "v_proj"};
}

std::string FallbackTokenizerDir(const std::string& share_dir) {
  return share_dir + "/tokenizers/assay-8k";
}

Result<ModelRef> ResolveModel(const std::string& name_or_dir, const std::string& share_dir) {
  if (const CatalogueModel* model = Find(name_or_dir)) {
    if (model->status != kAvailable) {
      return Unavailable(*model);
    }
    const std::string fetched = FetchedFolder(model->repository);
    return ReadModelFolder(name_or_dir, fetched.empty() ? share_dir + "/models/" + name_or_dir : fetched, share_dir);
  }
  if (IsDirectory(name_or_dir)) {
    return ReadModelFolder(name_or_dir, name_or_dir, share_dir);
  }
  if (const std::string fetched = FetchedFolder(name_or_dir); !fetched.empty()) {
    return ReadModelFolder(name_or_dir, fetched, share_dir);
  }
  if (FileExists(name_or_dir)) {
    return Status::InvalidArgument(
        fmt::format("model {} is a file; give the folder that holds config.json", name_or_dir));
  }
  return UnknownModel(name_or_dir);
}

Status CheckVocabulary(int64_t model_vocab_size, int64_t tokens_vocab_size) {
  if (model_vocab_size >= tokens_vocab_size) {
    return Status::Ok();
  }
  return Status::InvalidArgument(fmt::format(
      "the model's vocabulary of {} is smaller than the tokenizer's of {}: some tokens would have no embedding; "
      "use the model's own tokenizer or a model with a larger vocabulary",
      model_vocab_size, tokens_vocab_size));
}

}  // namespace assay::data
