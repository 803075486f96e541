// Objects as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "storage/object_store.h"

namespace assay::cli {

nlohmann::json ObjectJson(const std::string& uri, const storage::ObjectInfo& info);
/// "crc64nvme:AbCd=", or empty
std::string ChecksumText(const storage::ObjectInfo& info);

}  // namespace assay::cli
