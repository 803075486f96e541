// Commands that configuration files name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::storage {

/// Splits as a shell does, quotes and backslashes included; nothing where a quote is not closed.
std::optional<std::vector<std::string>> SplitCommand(std::string_view command);

}  // namespace assay::storage
