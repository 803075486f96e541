#include "objectserver/gcs/request.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "http/message.h"

namespace assay::objectserver::gcs {
namespace {

using nlohmann::json;
using storage::ChecksumKind;

struct FieldName {
  const char* json;
  const char* header;
};

constexpr FieldName kFields[] = {{"cacheControl", "Cache-Control"},
                                 {"contentDisposition", "Content-Disposition"},
                                 {"contentEncoding", "Content-Encoding"},
                                 {"contentLanguage", "Content-Language"}};

/// A number of a precondition; nothing when it is not given.
std::optional<uint64_t> NumberOf(const Query& query, std::string_view name) {
  const auto text = query.Find(name);
  const auto number = text ? ParseNumber(*text) : std::nullopt;
  return number ? std::optional(static_cast<uint64_t>(*number)) : std::nullopt;
}

struct Preconditions {
  std::optional<uint64_t> generation;
  std::optional<uint64_t> not_generation;
  std::optional<uint64_t> metageneration;
  std::optional<uint64_t> not_metageneration;

  explicit Preconditions(const Query& query)
      : generation(NumberOf(query, "ifGenerationMatch")),
        not_generation(NumberOf(query, "ifGenerationNotMatch")),
        metageneration(NumberOf(query, "ifMetagenerationMatch")),
        not_metageneration(NumberOf(query, "ifMetagenerationNotMatch")) {}

  bool any() const { return generation || not_generation || metageneration || not_metageneration; }
  /// Generation 0 is that of no object.
  bool Matches(const ObjectRecord* object) const {
    return (!generation || *generation == (object != nullptr ? object->generation : 0)) &&
           (!metageneration || (object != nullptr && *metageneration == object->metageneration));
  }
  bool Differs(const ObjectRecord* object) const {
    return (!not_generation || *not_generation != (object != nullptr ? object->generation : 0)) &&
           (!not_metageneration || object == nullptr || *not_metageneration != object->metageneration);
  }
};

std::string Base64Of(const ObjectRecord& object, ChecksumKind kind) {
  const auto found = object.digests.find(kind);
  return found == object.digests.end() ? "" : storage::Base64Encode(found->second);
}

}  // namespace

http::ServerResponse JsonAnswer(const json& body, int status) {
  http::ServerResponse response;
  response.status = status;
  response.headers.Add("Content-Type", "application/json; charset=UTF-8");
  response.headers.Add("Server", "assay");
  response.body.push_back(http::BodyPiece::Text(DumpJson(body)));
  return response;
}

http::ServerResponse ErrorAnswer(int status, std::string_view reason, std::string_view message) {
  return JsonAnswer({{"error",
                      {{"code", status},
                       {"message", message},
                       {"errors", {{{"message", message}, {"domain", "global"}, {"reason", reason}}}}}}},
                    status);
}

http::ServerResponse OutcomeAnswer(const Request& request, const StoreOutcome& outcome) {
  switch (outcome.code) {
    case StoreCode::kNoSuchBucket:
      return ErrorAnswer(404, "notFound", "The specified bucket does not exist.");
    case StoreCode::kNoSuchKey:
      return ErrorAnswer(404, "notFound", "No such object: " + request.bucket + "/" + request.object);
    case StoreCode::kNoSuchUpload:
      return ErrorAnswer(404, "notFound", "No such upload session");
    case StoreCode::kBucketExists:
      return ErrorAnswer(409, "conflict",
                         "Your previous request to create the named bucket succeeded and you already "
                         "own it.");
    case StoreCode::kBucketNotEmpty:
      return ErrorAnswer(409, "conflict", "The bucket you tried to delete is not empty.");
    case StoreCode::kConditionFailed:
      return ErrorAnswer(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.");
    case StoreCode::kInvalidKey:
      return ErrorAnswer(400, "invalid", "The name of an object is 1 to 1024 bytes of UTF-8 without NUL.");
    case StoreCode::kOk:
    case StoreCode::kFailed:
      break;
  }
  return ErrorAnswer(500, "backendError", outcome.message);
}

std::string HashHeader(const ObjectRecord& object) {
  const std::string crc32c = Base64Of(object, ChecksumKind::kCrc32c);
  const std::string md5 = Base64Of(object, ChecksumKind::kMd5);
  std::string header = crc32c.empty() ? "" : "crc32c=" + crc32c;
  if (!md5.empty()) {
    header += (header.empty() ? "md5=" : ",md5=") + md5;
  }
  return header;
}

json ObjectResource(const std::string& bucket, const ObjectRecord& object, const std::string& base_url) {
  const std::string generation = std::to_string(object.generation);
  const std::string address = "/storage/v1/b/" + bucket + "/o/" + http::PercentEncode(object.key);
  json resource = {{"kind", "storage#object"},
                   {"id", bucket + '/' + object.key + '/' + generation},
                   {"selfLink", base_url + address},
                   {"mediaLink", base_url + "/download" + address + "?generation=" + generation + "&alt=media"},
                   {"name", object.key},
                   {"bucket", bucket},
                   {"generation", generation},
                   {"metageneration", std::to_string(object.metageneration)},
                   {"contentType", object.attributes.content_type},
                   {"storageClass", object.attributes.storage_class},
                   {"size", std::to_string(object.size())},
                   {"etag", object.etag},
                   {"timeCreated", IsoTimestamp(object.created)},
                   {"updated", IsoTimestamp(object.modified)}};
  if (const std::string crc32c = Base64Of(object, ChecksumKind::kCrc32c); !crc32c.empty()) {
    resource["crc32c"] = crc32c;
  }
  if (const std::string md5 = Base64Of(object, ChecksumKind::kMd5); !md5.empty()) {
    resource["md5Hash"] = md5;
  }
  if (!object.attributes.metadata.empty()) {
    resource["metadata"] = object.attributes.metadata;
  }
  if (!object.parts.empty()) {
    resource["componentCount"] = object.parts.size();
  }
  for (const FieldName& field : kFields) {
    if (const auto found = object.attributes.system.find(field.header); found != object.attributes.system.end()) {
      resource[field.json] = found->second;
    }
  }
  return resource;
}

void ReadResource(const json& resource, Attributes& attributes) {
  const auto text = [&](const char* name) {
    const auto found = resource.find(name);
    return found != resource.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (const std::string type = text("contentType"); !type.empty()) {
    attributes.content_type = type;
  }
  if (const std::string storage_class = text("storageClass"); !storage_class.empty()) {
    attributes.storage_class = storage_class;
  }
  for (const FieldName& field : kFields) {
    if (const std::string value = text(field.json); !value.empty()) {
      attributes.system[field.header] = value;
    }
  }
  if (const auto metadata = resource.find("metadata"); metadata != resource.end() && metadata->is_object()) {
    for (const auto& [name, value] : metadata->items()) {
      if (value.is_string()) {
        attributes.metadata[name] = value.get<std::string>();
      } else {
        attributes.metadata.erase(name);
      }
    }
  }
}

Condition WriteCondition(const Query& query) {
  const Preconditions wanted(query);
  if (!wanted.any()) {
    return nullptr;
  }
  return [wanted](const ObjectRecord* current) {
    return wanted.Matches(current) && wanted.Differs(current) ? StoreCode::kOk : StoreCode::kConditionFailed;
  };
}

std::optional<http::ServerResponse> JudgeRead(const Query& query, const ObjectRecord& object) {
  const Preconditions wanted(query);
  if (!wanted.Matches(&object)) {
    return ErrorAnswer(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.");
  }
  if (!wanted.Differs(&object)) {
    http::ServerResponse response;
    response.status = 304;
    return response;
  }
  const auto generation = NumberOf(query, "generation");
  if (generation && *generation != object.generation) {
    return ErrorAnswer(404, "notFound", "No such object generation: " + object.key);
  }
  return std::nullopt;
}

}  // namespace assay::objectserver::gcs
