// Plain scalars of YAML 1.2's core schema, with Python's True, False and None beside its own spellings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

bool IsYamlNull(const std::string& text);
std::optional<bool> YamlBool(const std::string& text);
/// Decimal, 0o17 and 0x1F. Nothing for what is no integer or does not fit.
std::optional<int64_t> YamlInteger(const std::string& text);
/// Integers included, .inf and .nan too.
std::optional<double> YamlNumber(const std::string& text);

}  // namespace assay
