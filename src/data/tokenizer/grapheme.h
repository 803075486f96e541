// Grapheme clusters: what a reader takes for one character.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay::data {

/// The end of the grapheme cluster that starts at `begin` of `text`, valid UTF-8, by the rules and the Unicode version
/// of the `tokenizers` library. Pairs of flags come apart: nothing here depends on them.
size_t GraphemeEnd(std::string_view text, size_t begin);

}  // namespace assay::data
