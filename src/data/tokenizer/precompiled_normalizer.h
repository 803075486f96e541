// SentencePiece's precompiled character map.
#pragma once

#include <string>
#include <string_view>

#include "data/tokenizer/normalizer.h"

namespace assay::data {

/// The normaliser of Unigram models (T5, ALBERT, XLM-R, mBART). `charsmap` is base64 of: u32 byte size of a trie, the
/// trie as a Darts double array, and the replacements, each ended by a zero byte, that its values point to.
Result<NormalizerPtr> MakePrecompiledNormalizer(std::string_view charsmap);

}  // namespace assay::data
