#include "storage/oci/oci_json.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "storage/auth/time_format.h"
#include "storage/list_checks.h"
#include "storage/store_checks.h"
#include "storage/transfer/answer_json.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

constexpr char kMetadataPrefix[] = "opc-meta-";

std::optional<Checksum> ChecksumOfText(ChecksumKind kind, std::string_view base64) {
  const auto value = Base64Decode(base64);
  return value && value->size() == DigestBytes(kind) ? std::optional(Checksum{kind, *value}) : std::nullopt;
}

std::optional<ObjectInfo> ObjectOf(const nlohmann::json& json) {
  ObjectInfo info = {.key = TextAt(json, "name"), .etag = EtagOf(TextAt(json, "etag"))};
  info.size = -1;
  if (info.key.empty() || !ReadField(json, "size", info.size).ok() || info.size < 0) {
    return std::nullopt;
  }
  info.modified = ParseIsoTime(TextAt(json, "timeModified")).value_or(0);
  info.storage_class = TextAt(json, "storageTier");
  // The MD5 of an upload in parts is one of their MD5s, and says so.
  info.checksum = ChecksumOfText(ChecksumKind::kMd5, TextAt(json, "md5"));
  return info;
}

}  // namespace

Result<ListPage> ParseOciList(std::string_view body) {
  const nlohmann::json json = AnswerJson(body);
  if (!json.is_object() || !json.contains("objects")) {
    return Status::Io("it is no list of objects");
  }
  ListPage page;
  ASSAY_ASSIGN_OR_RETURN(page.next_page_token, NextPageAt(json, "nextStartWith"));
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json* objects, ListAt(json, "objects"));
  for (const nlohmann::json& object : *objects) {
    auto info = ObjectOf(object);
    if (!info) {
      return Status::Io("one of its objects is none");
    }
    page.objects.push_back(*std::move(info));
  }
  return ReadField(json, "prefixes", page.prefixes).ok() ? Result<ListPage>(std::move(page))
                                                         : Status::Io("its prefixes are no list of texts");
}

Result<std::vector<UnfinishedUpload>> ParseOciUploads(std::string_view body) {
  const nlohmann::json json = AnswerJson(body);
  if (!json.is_array()) {
    return Status::Io("it is no list of uploads");
  }
  std::vector<UnfinishedUpload> uploads;
  for (const nlohmann::json& upload : json) {
    uploads.push_back({TextAt(upload, "object"), TextAt(upload, "uploadId"),
                       ParseIsoTime(TextAt(upload, "timeCreated")).value_or(0)});
  }
  ASSAY_RETURN_IF_ERROR(CheckUploads("", uploads));
  return uploads;
}

Result<PartsPage> ParseOciParts(std::string_view body) {
  const nlohmann::json json = AnswerJson(body);
  if (!json.is_array()) {
    return Status::Io("it is no list of parts");
  }
  PartsPage page;
  for (const nlohmann::json& item : json) {
    UploadedPart part = {.bytes = -1, .etag = EtagOf(TextAt(item, "etag"))};
    int64_t number = 0;
    if (!item.is_object() || !ReadField(item, "partNumber", number).ok() || number < 1 || number > kMaxParts ||
        !ReadField(item, "size", part.bytes).ok() || part.bytes < 0) {
      return Status::Io("one of its parts is none");
    }
    part.number = static_cast<int>(number);
    part.checksum = ChecksumOfText(ChecksumKind::kMd5, TextAt(item, "md5"));
    page.parts.push_back(std::move(part));
  }
  ASSAY_RETURN_IF_ERROR(CheckParts(page.parts));
  return page;
}

std::optional<std::string> OciTextAt(std::string_view body, const char* key) {
  std::string text = TextAt(AnswerJson(body), key);
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

OciErrorBody ParseOciError(std::string_view body) {
  const nlohmann::json json = AnswerJson(body);
  return {TextAt(json, "code"), TextAt(json, "message")};
}

std::string OciBucketDetails(const std::string& name, const std::string& compartment, const std::string& storage_tier) {
  nlohmann::json json = {{"name", name}, {"compartmentId", compartment}};
  if (!storage_tier.empty()) {
    json["storageTier"] = storage_tier;
  }
  return DumpJson(json);
}

std::string OciCreateUploadBody(const std::string& key, const WriteOptions& options, const std::string& token,
                                const std::string& storage_tier) {
  nlohmann::json json = {{"object", key}, {"contentType", options.content_type}};
  auto metadata = nlohmann::json::object();
  for (const auto& [name, value] : options.metadata) {
    metadata[kMetadataPrefix + name] = value;
  }
  if (!token.empty()) {
    metadata[kMetadataPrefix + std::string(kWriteTokenName)] = token;
  }
  if (!metadata.empty()) {
    json["metadata"] = std::move(metadata);
  }
  if (!storage_tier.empty()) {
    json["storageTier"] = storage_tier;
  }
  return DumpJson(json);
}

std::string OciCommitBody(std::span<const UploadedPart> parts) {
  nlohmann::json list = nlohmann::json::array();
  for (const UploadedPart& part : parts) {
    list.push_back({{"partNum", part.number}, {"etag", part.etag}});
  }
  return DumpJson({{"partsToCommit", std::move(list)}});
}

std::string OciPresignBody(const std::string& key, bool write, double expires) {
  return DumpJson({{"name", "assay " + IsoTime(expires)},
                   {"accessType", write ? "ObjectWrite" : "ObjectRead"},
                   {"objectName", key},
                   {"timeExpires", IsoTime(expires)}});
}

std::string OciCopyBody(const OciCopy& copy) {
  nlohmann::json json = {{"sourceObjectName", copy.source.key}, {"sourceObjectIfMatchETag", copy.source.etag},
                         {"destinationRegion", copy.region},    {"destinationNamespace", copy.name_space},
                         {"destinationBucket", copy.bucket},    {"destinationObjectName", copy.to}};
  auto metadata = nlohmann::json::object();
  for (const auto& [name, value] : copy.options.metadata) {
    metadata[kMetadataPrefix + name] = value;
  }
  if (!metadata.empty()) {
    json["destinationObjectMetadata"] = std::move(metadata);
  }
  if (copy.options.condition.kind == WriteCondition::Kind::kAbsent) {
    json["destinationObjectIfNoneMatchETag"] = "*";
  } else if (copy.options.condition.kind == WriteCondition::Kind::kMatches) {
    json["destinationObjectIfMatchETag"] = copy.options.condition.etag;
  }
  return DumpJson(json);
}

std::optional<Checksum> OciHeaderMd5(const http::Response& answer) {
  const auto md5 = answer.headers.Find("opc-content-md5");
  return md5 ? ChecksumOfText(ChecksumKind::kMd5, *md5) : std::nullopt;
}

std::optional<Checksum> OciHeaderChecksum(const http::Response& answer) {
  if (const auto crc = answer.headers.Find("opc-content-crc32c")) {
    return ChecksumOfText(ChecksumKind::kCrc32c, *crc);
  }
  // Of an answer with a part of the object, Content-MD5 would be that part's.
  const auto md5 = answer.headers.Find(answer.headers.Has("opc-content-md5") ? "opc-content-md5" : "content-md5");
  const bool whole = !answer.headers.Has("opc-multipart-md5") && answer.status != 206;
  return md5 && whole ? ChecksumOfText(ChecksumKind::kMd5, *md5) : std::nullopt;
}

std::optional<ObjectInfo> OciInfoOfHeaders(const std::string& key, const http::Response& answer) {
  auto info = ObjectInfoOf(key, answer, kMetadataPrefix);
  if (info) {
    info->version = answer.headers.Find("version-id").value_or("");
    info->storage_class = answer.headers.Find("storage-tier").value_or("");
    info->checksum = OciHeaderChecksum(answer);
  }
  return info;
}

}  // namespace assay::storage
