#include "architecture/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "architecture/config_reader.h"

namespace assay::architecture {
namespace {

void RefuseOtherQuantisation(ConfigReader& keys) {
  if (const std::string method = keys.Text("quant_method"); !method.empty() && method != "gptq") {
    keys.Fail(fmt::format("quant_method '{}' is not supported, only gptq: use the unquantised model", method));
  }
  if (keys.BooleanOr("lm_head", false)) {
    keys.Fail("lm_head true is not supported: the head must not be quantised");
  }
  // GPTQModel's patterns of layers; "-:" begins those of layers that are left as they were.
  if (const auto dynamic = keys.Object("dynamic");
      dynamic && !std::ranges::all_of(dynamic->Keys(), [](const std::string& key) { return key.starts_with("-:"); })) {
    keys.Fail(
        "dynamic is not supported but for layers that are left out (-:): all quantised layers must have the same bits "
        "and group_size");
  }
  if (const std::string words = keys.TextOr("pack_dtype", "int32"); words != "int32") {
    keys.Fail(fmt::format("pack_dtype '{}' is not supported, only int32: pack the weights anew", words));
  }
}

}  // namespace

bool IsQuantisedWidth(int64_t bits) {
  return bits == 2 || bits == 3 || bits == 4 || bits == 8;
}

Quantization ReadQuantization(ConfigReader& keys) {
  Quantization quantization;
  std::optional<ConfigReader> section = keys.Object("quantization_config");
  if (!section) {
    return quantization;
  }
  RefuseOtherQuantisation(*section);
  quantization.bits = section->Integer("bits", 1);
  if (!IsQuantisedWidth(quantization.bits)) {
    section->Fail(fmt::format("bits {} is not supported, only 2, 3, 4 and 8", quantization.bits));
  }
  quantization.group_size = section->IntegerOr("group_size", -1, 128);
  if (quantization.group_size == 0) {
    section->Fail("group_size must be -1 or an integer of at least 1, not 0");
  }
  quantization.in_any_order = section->BooleanOr("desc_act", false);
  const std::string format = section->TextOr("checkpoint_format", section->TextOr("format", "gptq"));
  quantization.stores_zeros_as_they_are = format == "gptq_v2";
  if (format != "gptq" && format != "gptq_v2") {
    section->Fail(fmt::format("checkpoint_format '{}' is not supported, only gptq and gptq_v2", format));
  }
  return quantization;
}

}  // namespace assay::architecture
