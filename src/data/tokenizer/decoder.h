// The decoders of tokenizer.json: how tokens become text again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/tokenizer/pre_tokenizer.h"
#include "data/tokenizer/regex.h"

namespace assay::data {

/// Rewrites a list of tokens; the text is what the last decoder leaves, joined. Immutable.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// An error comes from a regular expression that takes too many steps.
  virtual Status Apply(std::vector<std::string>* tokens) const = 0;
};

using DecoderPtr = std::unique_ptr<const Decoder>;

DecoderPtr MakeByteLevelDecoder();
DecoderPtr MakeByteFallbackDecoder();
DecoderPtr MakeFuseDecoder();
/// Removes up to `start` and `stop` times the character `content` at the ends of every token.
DecoderPtr MakeStripDecoder(std::string content, size_t start, size_t stop);
DecoderPtr MakeReplaceDecoder(Regex from, std::string to);
DecoderPtr MakeMetaspaceDecoder(std::string replacement, PrependScheme scheme);
DecoderPtr MakeWordPieceDecoder(std::string prefix, bool cleanup);
/// Drops repeated tokens and `pad`; with `cleanup`, `delimiter` becomes a space.
DecoderPtr MakeCtcDecoder(std::string pad, std::string delimiter, bool cleanup);
DecoderPtr MakeBpeDecoder(std::string suffix);
DecoderPtr MakeDecoderSequence(std::vector<DecoderPtr> parts);

}  // namespace assay::data
