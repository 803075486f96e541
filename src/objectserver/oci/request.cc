#include "objectserver/oci/request.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace assay::objectserver::oci {
namespace {

constexpr std::string_view kMetaPrefix = "opc-meta-";

}  // namespace

http::ServerResponse Answer(const Request& request, int status) {
  http::ServerResponse response;
  response.status = status;
  response.headers.Add("opc-request-id", request.notes->request_id);
  if (const auto id = request.head.headers.Find("opc-client-request-id")) {
    response.headers.Add("opc-client-request-id", *id);
  }
  return response;
}

http::ServerResponse JsonAnswer(const Request& request, const nlohmann::json& body, int status) {
  http::ServerResponse response = Answer(request, status);
  response.headers.Add("Content-Type", "application/json");
  response.body.push_back(http::BodyPiece::Text(DumpJson(body)));
  return response;
}

http::ServerResponse ErrorAnswer(int status, std::string_view code, std::string_view message, const Notes& notes) {
  http::ServerResponse response;
  response.status = status;
  response.headers.Add("opc-request-id", notes->request_id);
  response.headers.Add("Content-Type", "application/json");
  response.body.push_back(http::BodyPiece::Text(DumpJson({{"code", code}, {"message", message}})));
  return response;
}

http::ServerResponse OutcomeAnswer(const Request& request, const StoreOutcome& outcome) {
  switch (outcome.code) {
    case StoreCode::kNoSuchBucket:
      return ErrorAnswer(404, "BucketNotFound",
                         "Either the bucket named '" + request.bucket +
                             "' does not exist in the namespace 'assay' or you are not authorized to access it",
                         request.notes);
    case StoreCode::kNoSuchKey:
      return ErrorAnswer(404, "ObjectNotFound",
                         "The object '" + request.object + "' was not found in the bucket '" + request.bucket + "'",
                         request.notes);
    case StoreCode::kNoSuchUpload:
      return ErrorAnswer(404, "NoSuchUpload", "The upload id is not known", request.notes);
    case StoreCode::kBucketExists:
      return ErrorAnswer(409, "BucketAlreadyExists", "Either the bucket already exists or you are not authorized",
                         request.notes);
    case StoreCode::kBucketNotEmpty:
      return ErrorAnswer(409, "BucketNotEmpty", "Bucket named '" + request.bucket + "' is not empty", request.notes);
    case StoreCode::kConditionFailed:
      return request.head.headers.Has("If-None-Match")
                 ? ErrorAnswer(412, "IfNoneMatchFailed",
                               "The If-None-Match header is '*' but there is an existing "
                               "entity",
                               request.notes)
                 : ErrorAnswer(412, "IfMatchFailed", "The If-Match header does not match the existing entity",
                               request.notes);
    case StoreCode::kInvalidKey:
      return ErrorAnswer(400, "InvalidObjectName", "The name of an object is 1 to 1024 bytes of UTF-8 without NUL",
                         request.notes);
    case StoreCode::kOk:
    case StoreCode::kFailed:
      break;
  }
  return ErrorAnswer(500, "InternalServerError", outcome.message, request.notes);
}

Condition ConditionOf(bool absent, std::string_view etag) {
  if (absent) {
    return
        [](const ObjectRecord* current) { return current == nullptr ? StoreCode::kOk : StoreCode::kConditionFailed; };
  }
  if (etag.empty()) {
    return nullptr;
  }
  return [etag = std::string(etag)](const ObjectRecord* current) {
    const bool same = current != nullptr && (etag == "*" || etag == current->etag);
    return same ? StoreCode::kOk : StoreCode::kConditionFailed;
  };
}

bool ReadCondition(const Request& request, Condition& condition) {
  const auto none_match = request.head.headers.Find("If-None-Match");
  const auto match = request.head.headers.Find("If-Match");
  if (none_match && Trim(*none_match) != "*") {
    return false;
  }
  condition = ConditionOf(none_match.has_value(), match ? Trim(*match) : "");
  return true;
}

std::string MetadataName(std::string_view header) {
  std::string name(header);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.starts_with(kMetaPrefix) ? name.substr(kMetaPrefix.size()) : "";
}

Attributes ReadAttributes(const Request& request) {
  Attributes attributes;
  attributes.content_type = request.head.headers.Find("Content-Type").value_or("application/octet-stream");
  for (const char* name : {"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language"}) {
    if (const auto value = request.head.headers.Find(name)) {
      attributes.system[name] = *value;
    }
  }
  for (const http::Header& header : request.head.headers.all()) {
    if (const std::string name = MetadataName(header.name); !name.empty()) {
      attributes.metadata[name] = header.value;
    }
  }
  return attributes;
}

std::string TextOf(const nlohmann::json& details, const char* name) {
  std::string text;
  return ReadField(details, name, text).ok() ? text : "";
}

std::string Base64Of(const Digests& digests, storage::ChecksumKind kind) {
  const auto found = digests.find(kind);
  return found == digests.end() ? "" : storage::Base64Encode(found->second);
}

}  // namespace assay::objectserver::oci
