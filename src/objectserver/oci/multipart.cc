// Uploads in parts of the native API.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "objectserver/compose.h"
#include "objectserver/oci/operations.h"

namespace assay::objectserver::oci {
namespace {

using nlohmann::json;
using storage::ChecksumKind;

constexpr int64_t kMaxParts = 10000;
constexpr int64_t kMaxListed = 1000;

json UploadSummary(const Request& request, const Upload& upload) {
  return {{"namespace", kNamespace}, {"bucket", request.bucket},  {"object", upload.key},
          {"uploadId", upload.id},   {"storageTier", "Standard"}, {"timeCreated", IsoTimestamp(upload.initiated)}};
}

http::ServerResponse InvalidPart(const Request& request, const std::string& what) {
  return ErrorAnswer(400, "InvalidUploadPart", what, request.notes);
}

/// The parts that a commit names, in ascending order; false with `answer` set when one of them is not there.
bool ChooseParts(const Request& request, const Upload& upload, const json& details, std::vector<Part>& parts,
                 http::ServerResponse& answer) {
  if (!details.is_object() || !details.contains("partsToCommit") || !details["partsToCommit"].is_array()) {
    answer = ErrorAnswer(400, "InvalidParameter", "partsToCommit is required", request.notes);
    return false;
  }
  for (const json& named : details["partsToCommit"]) {
    int64_t number = 0;
    std::string etag;
    if (!named.is_object() || !ReadField(named, "partNum", number).ok() || !ReadField(named, "etag", etag).ok()) {
      answer = InvalidPart(request, "each part needs partNum and etag");
      return false;
    }
    const auto found = upload.parts.find(static_cast<int>(number));
    if (found == upload.parts.end() || found->second.etag != etag) {
      answer = InvalidPart(request, "part " + std::to_string(number) + " was not uploaded with that etag");
      return false;
    }
    parts.push_back(found->second);
  }
  std::ranges::sort(parts, {}, &Part::number);
  if (parts.empty()) {
    answer = InvalidPart(request, "there are no parts to commit");
  }
  return !parts.empty();
}

Result<ObjectRecord> Assemble(const Upload& upload, std::vector<Part> parts) {
  ObjectRecord object;
  object.key = upload.key;
  object.attributes = upload.attributes;
  std::vector<std::string> digests;
  std::vector<int64_t> sizes;
  for (Part& part : parts) {
    ASSAY_ASSIGN_OR_RETURN(std::string crc32c, Crc32cOf(part.digests, part.blob));
    digests.push_back(std::move(crc32c));
    object.blob.Append(part.blob);
    part.blob = {};
    sizes.push_back(part.size);
  }
  object.digests[ChecksumKind::kCrc32c] = CombineDigests(ChecksumKind::kCrc32c, digests, sizes);
  object.etag = OpaqueEtag();
  object.parts = std::move(parts);
  return object;
}

}  // namespace

http::ServerResponse CreateUpload(const Context& context, const Request& request, std::string_view body) {
  const Result<json> details = ParseJson(body, "request");
  Upload upload;
  if (!details.ok() || !details->is_object() || !ReadField(*details, "object", upload.key).ok() || upload.key.empty()) {
    return ErrorAnswer(400, "InvalidParameter", "object is required", request.notes);
  }
  upload.attributes.content_type = "application/octet-stream";
  if (Status status = ReadField(*details, "contentType", upload.attributes.content_type); !status.ok()) {
    return ErrorAnswer(400, "InvalidParameter", status.message(), request.notes);
  }
  if (details->contains("metadata") && (*details)["metadata"].is_object()) {
    for (const auto& [name, value] : (*details)["metadata"].items()) {
      const bool prefixed = name.starts_with("opc-meta-");
      upload.attributes.metadata[prefixed ? name.substr(9) : name] = value.is_string() ? value.get<std::string>() : "";
    }
  }
  const StoreOutcome outcome = context.store->CreateUpload(request.bucket, upload);
  if (!outcome.ok()) {
    return OutcomeAnswer(request, outcome);
  }
  return JsonAnswer(request, UploadSummary(request, *context.store->FindUploadHead(request.bucket, outcome.message)));
}

http::ServerResponse ListUploads(const Context& context, const Request& request, std::string_view) {
  json items = json::array();
  for (const Upload& upload : context.store->Uploads(request.bucket)) {
    items.push_back(UploadSummary(request, upload));
  }
  return JsonAnswer(request, items);
}

std::unique_ptr<http::Exchange> UploadPart(const Context& context, const RequestPointer& request) {
  const std::string id = request->query.Get("uploadId");
  const auto number = ParseNumber(request->query.Get("uploadPartNum"));
  const auto upload = context.store->FindUploadHead(request->bucket, id);
  if (!upload || upload->key != request->object) {
    return http::ReadyExchange(OutcomeAnswer(*request, {StoreCode::kNoSuchUpload, nullptr, {}}));
  }
  if (!number || *number < 1 || *number > kMaxParts) {
    return http::ReadyExchange(InvalidPart(*request, "uploadPartNum must lie between 1 and 10000"));
  }
  return ReceiveContent(
      context, request, [&context, request, id, number = *number](Blob blob, std::string etag, Digests digests) {
        const std::string md5 = Base64Of(digests, ChecksumKind::kMd5);
        const Part part{static_cast<int>(number), blob.size(), etag, std::move(digests), 0, std::move(blob)};
        const StoreOutcome outcome = context.store->PutPart(request->bucket, id, part);
        if (!outcome.ok()) {
          return OutcomeAnswer(*request, outcome);
        }
        http::ServerResponse answer = Answer(*request);
        answer.headers.Add("etag", etag);
        if (request->HeaderText("opc-checksum-algorithm") == "CRC32C") {
          answer.headers.Add("opc-content-crc32c", Base64Of(part.digests, ChecksumKind::kCrc32c));
        }
        if (!md5.empty()) {
          answer.headers.Add("opc-content-md5", md5);
        }
        return answer;
      });
}

http::ServerResponse ListParts(const Context& context, const Request& request, std::string_view) {
  const auto upload = context.store->FindUpload(request.bucket, request.query.Get("uploadId"));
  if (!upload) {
    return OutcomeAnswer(request, {StoreCode::kNoSuchUpload, nullptr, {}});
  }
  const int64_t limit =
      std::clamp<int64_t>(ParseNumber(request.query.Get("limit")).value_or(kMaxListed), 1, kMaxListed);
  const auto after = static_cast<int>(ParseNumber(request.query.Get("page")).value_or(0));
  json items = json::array();
  auto next = upload->parts.upper_bound(after);
  for (; next != upload->parts.end() && static_cast<int64_t>(items.size()) < limit; ++next) {
    const auto& [number, part] = *next;
    items.push_back({{"partNumber", number},
                     {"size", part.size},
                     {"etag", part.etag},
                     {"md5", Base64Of(part.digests, ChecksumKind::kMd5)}});
  }
  http::ServerResponse answer = JsonAnswer(request, items);
  if (next != upload->parts.end()) {
    answer.headers.Add("opc-next-page", std::to_string(std::prev(next)->first));
  }
  return answer;
}

http::ServerResponse CommitUpload(const Context& context, const Request& request, std::string_view body) {
  const std::string id = request.query.Get("uploadId");
  const auto upload = context.store->FindUpload(request.bucket, id);
  if (!upload || upload->key != request.object) {
    return OutcomeAnswer(request, {StoreCode::kNoSuchUpload, nullptr, {}});
  }
  const Result<json> details = ParseJson(body, "request");
  if (!details.ok()) {
    return ErrorAnswer(400, "InvalidParameter", "the body is no JSON", request.notes);
  }
  std::vector<Part> parts;
  http::ServerResponse answer;
  if (!ChooseParts(request, *upload, *details, parts, answer)) {
    return answer;
  }
  Condition condition;
  if (!ReadCondition(request, condition)) {
    return ErrorAnswer(400, "InvalidParameter", "The only If-None-Match understood is '*'", request.notes);
  }
  Result<ObjectRecord> object = Assemble(*upload, std::move(parts));
  if (!object.ok()) {
    return ErrorAnswer(500, "InternalServerError", object.status().message(), request.notes);
  }
  const StoreOutcome outcome = context.store->CompleteUpload(request.bucket, id, std::move(*object), condition);
  if (!outcome.ok()) {
    return OutcomeAnswer(request, outcome);
  }
  answer = Answer(request);
  answer.headers.Add("etag", outcome.object->etag);
  answer.headers.Add("opc-multipart-md5", MultipartMd5(*outcome.object));
  answer.headers.Add("opc-content-crc32c", Base64Of(outcome.object->digests, ChecksumKind::kCrc32c));
  answer.headers.Add("last-modified", http::HttpDate(static_cast<int64_t>(outcome.object->modified)));
  return answer;
}

http::ServerResponse AbortUpload(const Context& context, const Request& request, std::string_view) {
  const StoreOutcome outcome =
      context.store->AbortUpload(request.bucket, request.object, request.query.Get("uploadId"));
  return outcome.ok() ? Answer(request, 204) : OutcomeAnswer(request, outcome);
}

}  // namespace assay::objectserver::oci
