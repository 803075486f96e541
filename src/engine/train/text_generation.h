// Text by a language model, a token after the other.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>

#include "engine/model/causal_lm.h"
#include "job/text_sample.h"

namespace assay::engine {

/// The next token by the logits [V] of the last one: the likeliest, or drawn by `generator`, which must be on the CPU.
/// With equal logits and seed it is the one that transformers' generate() draws there.
int64_t choose_token(const at::Tensor& logits_V, const job::TextSample& sample, at::Generator& generator);

/// Tells each token that a whole `model` on `device` puts behind the prompt, an eos token too, which ends the text. Of
/// a model with a trained prompt that stands before the text. Dropout is off meanwhile. Returns whether an eos token
/// ended it. Throws StatusError for a sample that cannot be, an id outside the vocabulary, or a text beyond the
/// positions that the model has learned.
bool generate_text(CausalLM& model, const job::TextSample& sample, c10::Device device,
                   const std::function<void(int64_t)>& tell);

}  // namespace assay::engine
