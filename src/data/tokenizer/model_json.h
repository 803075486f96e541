// The model of tokenizer.json.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "data/tokenizer/model.h"

namespace assay::data {

/// Whether the model can take words as bytes when a ByteLevel pre-tokeniser is the last step: byte-pair encoding with a
/// token for every byte. `model` is any JSON.
bool ModelTakesBytes(const nlohmann::json& model);

/// Reads a model; `byte_level` only after ModelTakesBytes. Errors name what is unknown or wrong in it.
Result<std::unique_ptr<const Model>> ReadModel(const nlohmann::json& model, bool byte_level);

}  // namespace assay::data
