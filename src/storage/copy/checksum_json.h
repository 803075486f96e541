// Checksums in journals.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "storage/integrity/checksum.h"

namespace assay::storage {

nlohmann::json ChecksumJson(const Checksum& checksum);
/// Nothing where `json` is no checksum.
std::optional<Checksum> ChecksumFromJson(const nlohmann::json& json);

}  // namespace assay::storage
