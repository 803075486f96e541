#include "architecture/families.h"

#include <algorithm>

namespace assay::architecture {

// Each in its file of families/.
void ReadBloom(ConfigReader& keys, ModelConfig& config);
void ReadGptBigCode(ConfigReader& keys, ModelConfig& config);
void ReadGranite(ConfigReader& keys, ModelConfig& config);
void ReadGraniteMoe(ConfigReader& keys, ModelConfig& config);
void ReadGraniteMoeHybrid(ConfigReader& keys, ModelConfig& config);
void ReadLlama(ConfigReader& keys, ModelConfig& config);
void ReadMistral(ConfigReader& keys, ModelConfig& config);
void ReadMixtral(ConfigReader& keys, ModelConfig& config);
void ReadQwen2(ConfigReader& keys, ModelConfig& config);
void ReadQwen3(ConfigReader& keys, ModelConfig& config);
void ReadSeedOss(ConfigReader& keys, ModelConfig& config);

namespace {

constexpr ModelFamily kFamilies[] = {
    {.model_type = "bloom", .architecture = "BloomForCausalLM", .layer_class = "BloomBlock", .read = ReadBloom},
    {.model_type = "gpt_bigcode",
     .architecture = "GPTBigCodeForCausalLM",
     .layer_class = "GPTBigCodeBlock",
     .read = ReadGptBigCode},
    {.model_type = "granite",
     .architecture = "GraniteForCausalLM",
     .layer_class = "GraniteDecoderLayer",
     .read = ReadGranite},
    {.model_type = "granitemoe",
     .architecture = "GraniteMoeForCausalLM",
     .layer_class = "GraniteMoeDecoderLayer",
     .read = ReadGraniteMoe},
    {.model_type = "granitemoehybrid",
     .architecture = "GraniteMoeHybridForCausalLM",
     .layer_class = "GraniteMoeHybridDecoderLayer",
     .read = ReadGraniteMoeHybrid},
    {.model_type = "llama", .architecture = "LlamaForCausalLM", .layer_class = "LlamaDecoderLayer", .read = ReadLlama},
    {.model_type = "mistral",
     .architecture = "MistralForCausalLM",
     .layer_class = "MistralDecoderLayer",
     .read = ReadMistral},
    {.model_type = "mixtral",
     .architecture = "MixtralForCausalLM",
     .layer_class = "MixtralDecoderLayer",
     .read = ReadMixtral},
    {.model_type = "qwen2", .architecture = "Qwen2ForCausalLM", .layer_class = "Qwen2DecoderLayer", .read = ReadQwen2},
    {.model_type = "qwen3", .architecture = "Qwen3ForCausalLM", .layer_class = "Qwen3DecoderLayer", .read = ReadQwen3},
    {.model_type = "seed_oss",
     .architecture = "SeedOssForCausalLM",
     .layer_class = "SeedOssDecoderLayer",
     .read = ReadSeedOss},
};

}  // namespace

std::span<const ModelFamily> Families() {
  return kFamilies;
}

std::vector<std::string_view> FamilyNames() {
  std::vector<std::string_view> names;
  for (const ModelFamily& family : kFamilies) {
    names.push_back(family.model_type);
  }
  return names;
}

const ModelFamily* FindFamily(std::string_view model_type) {
  const auto* row = std::ranges::find(kFamilies, model_type, &ModelFamily::model_type);
  return row == std::end(kFamilies) ? nullptr : row;
}

}  // namespace assay::architecture
