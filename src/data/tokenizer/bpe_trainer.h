// Training a byte-level BPE tokeniser.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace assay::data {

struct BpeTrainerOptions {
  int64_t vocab_size = 8192;  ///< special tokens and the 256 bytes included
  int64_t min_frequency = 0;  ///< pairs seen less often are not merged
  /// The first ids, in this order; all different.
  std::vector<std::string> special_tokens = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
};

/// Trains on `texts`, valid UTF-8, and returns a tokenizer.json: bytes as tokens, GPT-2's pattern between single digits
/// (SmolLM2's pre-tokeniser). The most frequent pair is merged first, of equal ones that with the smaller ids, so that
/// the result is the same in every run, and the vocabulary and merges are those that the `tokenizers` library's
/// BpeTrainer gives. Fails when `vocab_size` has no room for the special tokens and the bytes. The vocabulary is
/// smaller than asked for when the texts have no more pairs.
Result<std::string> TrainByteLevelBpe(std::span<const std::string> texts, const BpeTrainerOptions& options);

}  // namespace assay::data
