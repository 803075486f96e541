// A text that a model is to go on with, in its tokens.
#pragma once

#include <string>

#include "base/status.h"
#include "data/model_catalogue.h"
#include "job/text_sample.h"

namespace assay::data {

/// A sample that begins with `text`, with the special tokens that the model's tokeniser puts around one. It ends where
/// the eos_token_id of the model's generation_config.json, or else of its config.json, or else its tokeniser's own say
/// so. `is_chat`: the text is what a user says in a conversation, which the chat template writes. Fails with one line
/// where the model has no tokeniser, or no template, or the text no tokens.
Result<job::TextSample> BeginText(const ModelRef& model, const std::string& text, bool is_chat);

}  // namespace assay::data
