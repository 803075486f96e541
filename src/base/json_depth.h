// How deep a text of JSON nests, before anything is built of it.
#pragma once

#include <string_view>

namespace assay {

/// A tree is copied by recursion: deeper than any document of ours nests, and far from the end of the stack.
inline constexpr int kMostJsonDepth = 200;

/// Whether lists and objects of `text` are nested more than kMostJsonDepth deep; what else is wrong with it is for a
/// parser to find.
bool IsNestedTooDeep(std::string_view text);

}  // namespace assay
