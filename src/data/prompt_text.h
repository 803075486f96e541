// The text that a trained prompt starts as, in the tokens of a model.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/model_catalogue.h"

namespace assay::data {

/// With the model's special tokens, as peft has them. Fails with one line where the model has no tokeniser, or the text
/// no tokens.
Result<std::vector<int64_t>> TokenizePromptText(const ModelRef& model, std::string_view text);

}  // namespace assay::data
