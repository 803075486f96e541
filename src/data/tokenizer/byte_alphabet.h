// GPT-2's byte alphabet: every byte as a printable character, so that any bytes can be written as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::data {

/// `bytes` in the alphabet.
std::string ToByteAlphabet(std::string_view bytes);

/// The bytes that `text` stands for; nothing when it has a character outside the alphabet.
std::optional<std::string> FromByteAlphabet(std::string_view text);

}  // namespace assay::data
