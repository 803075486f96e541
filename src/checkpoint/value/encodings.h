// Latin-1 and UTF-8: pickles of protocol 2 hold bytes as text of the code points 0 to 255.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::checkpoint {

/// Appends the code point as UTF-8; false for a surrogate and for what lies beyond the last one.
bool AppendUtf8(uint32_t code_point, std::string& text);
std::string Latin1ToUtf8(std::string_view bytes);
/// Nothing where `text` holds anything beyond 255, or is no UTF-8.
std::optional<std::string> Utf8ToLatin1(std::string_view text);

}  // namespace assay::checkpoint
