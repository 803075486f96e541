// Normalisers, pre-tokenisers, decoders and post-processors from tokenizer.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "data/tokenizer/decoder.h"
#include "data/tokenizer/normalizer.h"
#include "data/tokenizer/post_processor.h"
#include "data/tokenizer/pre_tokenizer.h"

namespace assay::data {

/// Each reads one component; errors name what is unknown or wrong in it.
Result<NormalizerPtr> ReadNormalizer(const nlohmann::json& component);
Result<DecoderPtr> ReadDecoder(const nlohmann::json& component);
Result<PostProcessor> ReadPostProcessor(const nlohmann::json& component);

/// A pre-tokeniser, with what it means for the model.
struct ReadPreTokenizerResult {
  PreTokenizer pre_tokenizer;
  /// The last step writes words in the byte alphabet, and is left to the model: `byte_level` of BpeOptions.
  bool byte_level = false;
};

/// With `model_takes_bytes` a ByteLevel step that is the last one is left to the model.
Result<ReadPreTokenizerResult> ReadPreTokenizer(const nlohmann::json& component, bool model_takes_bytes);

}  // namespace assay::data
