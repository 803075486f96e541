#include "cli/object_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "storage/auth/time_format.h"

namespace assay::cli {

std::string ChecksumText(const storage::ObjectInfo& info) {
  return info.checksum ? fmt::format("{}:{}", storage::NameOf(info.checksum->kind), info.checksum->Base64())
                       : std::string();
}

nlohmann::json ObjectJson(const std::string& uri, const storage::ObjectInfo& info) {
  nlohmann::json json = {{"uri", uri}, {"key", info.key}, {"size", info.size}, {"etag", info.etag}};
  if (info.modified > 0) {
    json["modified"] = storage::IsoTime(info.modified);
  }
  const auto add = [&json](const char* name, const std::string& value) {
    if (!value.empty()) {
      json[name] = value;
    }
  };
  add("version", info.version);
  add("storage_class", info.storage_class);
  add("content_type", info.content_type);
  add("checksum", ChecksumText(info));
  if (!info.metadata.empty()) {
    json["metadata"] = info.metadata;
  }
  return json;
}

}  // namespace assay::cli
