#include "engine/model/families.h"

#include <algorithm>

#include "engine/model/decoder.h"
#include "engine/model/decoder_config.h"

namespace assay::engine {
namespace {

constexpr ModelFamily kFamilies[] = {
    {"llama", "LlamaForCausalLM", read_llama_config, build_decoder},
    {"mistral", "MistralForCausalLM", read_mistral_config, build_decoder},
    {"granite", "GraniteForCausalLM", read_granite_config, build_decoder},
};

}  // namespace

std::span<const ModelFamily> model_families() {
  return kFamilies;
}

const ModelFamily* find_model_family(std::string_view model_type) {
  const auto* row = std::ranges::find(kFamilies, model_type, &ModelFamily::model_type);
  return row == std::end(kFamilies) ? nullptr : row;
}

}  // namespace assay::engine
