#include "storage/copy/checksum_json.h"

#include <string>

#include "base/json.h"

namespace assay::storage {

nlohmann::json ChecksumJson(const Checksum& checksum) {
  return {{"kind", NameOf(checksum.kind)}, {"value", checksum.Base64()}};
}

std::optional<Checksum> ChecksumFromJson(const nlohmann::json& json) {
  std::string kind_name;
  std::string text;
  if (!json.is_object() || !ReadField(json, "kind", kind_name).ok() || !ReadField(json, "value", text).ok()) {
    return std::nullopt;
  }
  const auto kind = ChecksumKindOf(kind_name);
  const auto value = Base64Decode(text);
  return kind && value && value->size() == DigestBytes(*kind) ? std::optional(Checksum{*kind, *value}) : std::nullopt;
}

}  // namespace assay::storage
