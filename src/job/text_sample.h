// A text that a language model goes on with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace assay::job {

/// Plain data. Tokens are chosen as transformers' generate() does: the likeliest, or drawn.
struct TextSample {
  std::vector<int64_t> prompt_ids;  ///< of the text's begin, by the model's tokeniser; empty: no text is made
  std::string tokenizer;            ///< the folder of that tokeniser, for who reads the text
  std::vector<int64_t> eos_ids;     ///< each of them ends it
  int64_t max_new_tokens = 64;      ///< it ends after so many
  double temperature = 0;           ///< that logits are divided by; 0: the likeliest token is taken
  int64_t top_k = 0;                ///< tokens are drawn of the likeliest so many; 0: of all
  double top_p = 1;  ///< and of the likeliest whose probabilities add up to so much (Holtzman et al. 2019)
  uint64_t seed = 42;
  bool cache = true;  ///< keys and values of earlier tokens are kept; else each step computes them all again
};

/// Refuses, in one line, what no text can be made by.
Status CheckSample(const TextSample& sample);

/// The one list of its fields: `visit(name, field)` for each.
template <typename Sample, typename Visitor>
void VisitSampleFields(Sample& sample, const Visitor& visit) {
  visit("prompt_ids", sample.prompt_ids);
  visit("tokenizer", sample.tokenizer);
  visit("eos_ids", sample.eos_ids);
  visit("max_new_tokens", sample.max_new_tokens);
  visit("temperature", sample.temperature);
  visit("top_k", sample.top_k);
  visit("top_p", sample.top_p);
  visit("seed", sample.seed);
  visit("cache", sample.cache);
}

}  // namespace assay::job
