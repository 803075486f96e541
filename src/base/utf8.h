// Well-formed UTF-8.
#pragma once

#include <string_view>

namespace assay {

/// Whether `text` is UTF-8 from its first byte to its last (no overlong forms, no surrogates); an empty one is.
bool IsUtf8(std::string_view text);

}  // namespace assay
