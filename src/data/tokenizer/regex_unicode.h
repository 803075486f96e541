// What regular expressions know of Unicode: properties and case folding, in the version of the `tokenizers` library.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/tokenizer/code_point_set.h"

namespace assay::data {

/// Where a property is written; Oniguruma gives some names different members.
enum class PropertyPlace {
  kPattern,    ///< \p{name}, or \name, by itself
  kBrackets,   ///< the same within [...]
  kPosixName,  ///< [:name:]
};

/// The members of the property `name`; case, spaces, '_' and '-' of the name do not count, which a [:name:] must be
/// written without. Shorthands are properties
/// too: "\w", "\s", "\d" and "\h". Null when there is no such property.
std::optional<CodePointSet> FindProperty(std::string_view name, PropertyPlace place);

/// `set` with all that a pattern that ignores case takes for one of its members.
CodePointSet CloseOverCase(const CodePointSet& set);

/// One code point for all that a pattern that ignores case takes for `code_point`.
uint32_t FoldedCase(uint32_t code_point);

/// A code point that a pattern that ignores case takes for a text of two or three, such as U+00DF for "ss".
struct MultipleFolding {
  uint32_t code_point;
  uint32_t text[3];  ///< 0 where there are two

  size_t size() const { return text[2] == 0 ? 2 : 3; }
};
std::span<const MultipleFolding> MultipleFoldings();

}  // namespace assay::data
