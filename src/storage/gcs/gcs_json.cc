#include "storage/gcs/gcs_json.h"

#include <strings.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "storage/auth/time_format.h"
#include "storage/s3/s3_xml.h"
#include "storage/transfer/answer_json.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

std::optional<Checksum> ChecksumOf(std::string_view crc32c, std::string_view md5) {
  if (const auto value = Base64Decode(crc32c); value && value->size() == 4) {
    return Checksum{ChecksumKind::kCrc32c, *value};
  }
  if (const auto value = Base64Decode(md5); value && value->size() == 16) {
    return Checksum{ChecksumKind::kMd5, *value};
  }
  return std::nullopt;
}

/// What x-goog-hash says behind `name`; it may come several times, with several hashes each.
std::string HeaderHash(const http::Response& answer, std::string_view name) {
  for (const http::Header& header : answer.headers.all()) {
    if (strcasecmp(header.name.c_str(), "x-goog-hash") != 0) {
      continue;
    }
    for (const std::string& field : Split(header.value, ',')) {
      const std::string_view hash = Trim(field);
      if (hash.starts_with(name)) {
        return std::string(hash.substr(name.size()));
      }
    }
  }
  return {};
}

std::optional<ObjectInfo> ObjectOf(const nlohmann::json& json) {
  const auto size = ParseCount(TextAt(json, "size"));
  ObjectInfo info = {.key = TextAt(json, "name"), .etag = TextAt(json, "generation")};
  if (!size || info.key.empty() || info.etag.empty()) {
    return std::nullopt;
  }
  info.size = *size;
  info.version = info.etag;
  info.modified = ParseIsoTime(TextAt(json, "updated")).value_or(0);
  info.storage_class = TextAt(json, "storageClass");
  info.content_type = TextAt(json, "contentType");
  info.checksum = ChecksumOf(TextAt(json, "crc32c"), TextAt(json, "md5Hash"));
  if (const auto metadata = json.find("metadata"); metadata != json.end() && metadata->is_object()) {
    for (const auto& [name, value] : metadata->items()) {
      info.metadata[name] = value.is_string() ? value.get<std::string>() : "";
    }
  }
  return info;
}

std::optional<ObjectInfo> ObjectNamed(std::string_view key, const nlohmann::json& json) {
  std::optional<ObjectInfo> info = ObjectOf(json);
  return info && info->key == key ? std::move(info) : std::nullopt;
}

nlohmann::json Resource(const std::string& content_type, const std::map<std::string, std::string>& metadata,
                        const std::string& storage_class) {
  nlohmann::json json = {{"contentType", content_type}};
  if (!metadata.empty()) {
    json["metadata"] = metadata;
  }
  if (!storage_class.empty()) {
    json["storageClass"] = storage_class;
  }
  return json;
}

}  // namespace

std::optional<ObjectInfo> ParseGcsObject(std::string_view key, std::string_view body) {
  return ObjectNamed(key, AnswerJson(body));
}

Result<ListPage> ParseGcsList(std::string_view body) {
  const nlohmann::json json = AnswerJson(body);
  // A bucket without objects is an object without members.
  if (!json.is_object() || json.contains("error")) {
    return Status::Io("it is no list of objects");
  }
  ListPage page;
  ASSAY_ASSIGN_OR_RETURN(page.next_page_token, NextPageAt(json, "nextPageToken"));
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json* items, ListAt(json, "items"));
  for (const nlohmann::json& item : *items) {
    auto info = ObjectOf(item);
    if (!info) {
      return Status::Io("one of its items is no object");
    }
    page.objects.push_back(*std::move(info));
  }
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json* prefixes, ListAt(json, "prefixes"));
  for (const nlohmann::json& prefix : *prefixes) {
    if (!prefix.is_string()) {
      return Status::Io("one of its prefixes is no text");
    }
    page.prefixes.push_back(prefix.get<std::string>());
  }
  return page;
}

std::optional<GcsRewrite> ParseGcsRewrite(std::string_view to, std::string_view body) {
  const nlohmann::json json = AnswerJson(body);
  GcsRewrite rewrite;
  if (!json.is_object() || !ReadField(json, "done", rewrite.done).ok()) {
    return std::nullopt;
  }
  rewrite.token = TextAt(json, "rewriteToken");
  if (const auto resource = json.find("resource"); resource != json.end()) {
    rewrite.object = ObjectNamed(to, *resource);
  }
  const bool complete = rewrite.done ? rewrite.object.has_value() : !rewrite.token.empty();
  return complete ? std::optional(std::move(rewrite)) : std::nullopt;
}

GcsErrorBody ParseGcsError(std::string_view body) {
  const nlohmann::json json = AnswerJson(body);
  const auto error = json.is_object() ? json.find("error") : json.end();
  if (error == json.end() || !error->is_object()) {
    const S3ErrorBody xml = ParseS3Error(body);
    return {xml.code, xml.message};
  }
  GcsErrorBody parsed = {.reason = "", .message = TextAt(*error, "message")};
  const auto errors = error->find("errors");
  if (errors != error->end() && errors->is_array() && !errors->empty() && errors->front().is_object()) {
    parsed.reason = TextAt(errors->front(), "reason");
  }
  return parsed;
}

std::string GcsObjectBody(const std::string& name, const std::string& content_type,
                          const std::map<std::string, std::string>& metadata, const std::string& storage_class,
                          const std::optional<Checksum>& checksum) {
  nlohmann::json json = Resource(content_type, metadata, storage_class);
  if (!name.empty()) {
    json["name"] = name;
  }
  if (checksum) {
    json[checksum->kind == ChecksumKind::kMd5 ? "md5Hash" : "crc32c"] = checksum->Base64();
  }
  return DumpJson(json);
}

std::string GcsBucketResource(const std::string& name, const StoreOptions& options) {
  nlohmann::json json = {{"name", name}};
  if (!options.region.empty()) {
    json["location"] = options.region;
  }
  if (!options.storage_class.empty()) {
    json["storageClass"] = options.storage_class;
  }
  return DumpJson(json);
}

std::string GcsComposeBody(std::span<const ObjectInfo> sources, const std::string& content_type,
                           const std::map<std::string, std::string>& metadata, const std::string& storage_class) {
  nlohmann::json json = {{"destination", Resource(content_type, metadata, storage_class)}};
  nlohmann::json& objects = json["sourceObjects"] = nlohmann::json::array();
  for (const ObjectInfo& source : sources) {
    objects.push_back({{"name", source.key}, {"objectPreconditions", {{"ifGenerationMatch", source.etag}}}});
  }
  return DumpJson(json);
}

std::optional<Checksum> GcsHeaderChecksum(const http::Response& answer) {
  return ChecksumOf(HeaderHash(answer, "crc32c="), HeaderHash(answer, "md5="));
}

std::optional<Checksum> GcsHeaderMd5(const http::Response& answer) {
  return ChecksumOf("", HeaderHash(answer, "md5="));
}

std::optional<ObjectInfo> GcsInfoOfHeaders(const std::string& key, const http::Response& answer) {
  auto info = ObjectInfoOf(key, answer, kGcsMetadataPrefix);
  const auto generation = answer.headers.Find("x-goog-generation");
  if (!info || !generation) {
    return std::nullopt;
  }
  info->etag = info->version = *generation;
  info->storage_class = answer.headers.Find("x-goog-storage-class").value_or("");
  info->checksum = GcsHeaderChecksum(answer);
  return info;
}

}  // namespace assay::storage
