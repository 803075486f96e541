// Uploads in parts, up to their completion.
#include <algorithm>
#include <optional>
#include <utility>

#include "http/message.h"
#include "objectserver/s3/checksum_fields.h"
#include "objectserver/s3/content.h"
#include "objectserver/s3/operations.h"
#include "objectserver/s3/xml.h"

namespace assay::objectserver::s3 {
namespace {

using storage::ChecksumKind;

constexpr int64_t kMaxParts = 10000;
constexpr size_t kMaxListed = 1000;

/// x-amz-checksum-algorithm and x-amz-checksum-type.
std::optional<Error> ReadUploadChecksum(const Request& request, Upload& upload) {
  const std::string algorithm = request.HeaderText("x-amz-checksum-algorithm");
  const std::string type = request.HeaderText("x-amz-checksum-type");
  if (algorithm.empty()) {
    return type.empty() ? std::nullopt
                        : std::optional(Error{"InvalidRequest",
                                              "The x-amz-checksum-type header can only be used with "
                                              "the x-amz-checksum-algorithm header."});
  }
  upload.checksum_kind = KindOfUpperName(algorithm);
  if (!upload.checksum_kind) {
    return Error{"InvalidRequest",
                 "Checksum algorithm provided is unsupported. Please try again with any of the valid "
                 "types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]"};
  }
  const bool always_full = upload.checksum_kind == ChecksumKind::kCrc64Nvme;
  upload.composite_checksum = type.empty() ? !always_full : type == "COMPOSITE";
  const bool known = type.empty() || type == "COMPOSITE" || type == "FULL_OBJECT";
  if (!known || (always_full && upload.composite_checksum) ||
      (!CanCombine(*upload.checksum_kind) && !upload.composite_checksum)) {
    return Error{"InvalidRequest",
                 "The " + type + " checksum type cannot be used with the " + algorithm + " checksum algorithm."};
  }
  return std::nullopt;
}

std::optional<Error> JudgePart(const Request& request, const std::optional<Upload>& upload, const ContentPlan& plan) {
  const auto number = ParseNumber(request.query.Get("partNumber"));
  if (!number || *number < 1 || *number > kMaxParts) {
    return Error{"InvalidArgument",
                 "Part number must be an integer between 1 and 10000, inclusive",
                 0,
                 {{"ArgumentName", "partNumber"}, {"ArgumentValue", request.query.Get("partNumber")}}};
  }
  if (!upload || upload->key != request.key) {
    return Error{"NoSuchUpload", {}, 0, {{"UploadId", request.query.Get("uploadId")}}};
  }
  const bool required = upload->composite_checksum || plan.checksum_kind;
  if (upload->checksum_kind && required && plan.checksum_kind != upload->checksum_kind) {
    const std::string actual = plan.checksum_kind ? std::string(storage::NameOf(*plan.checksum_kind)) : "null";
    return Error{"InvalidRequest", "Checksum Type mismatch occurred, expected checksum Type: " +
                                       std::string(storage::NameOf(*upload->checksum_kind)) +
                                       ", actual checksum Type: " + actual};
  }
  return std::nullopt;
}

void WriteOwner(XmlWriter& xml, std::string_view element) {
  xml.Open(element);
  xml.Leaf("ID", "assay");
  xml.Leaf("DisplayName", "assay");
  xml.Close();
}

void WriteUpload(XmlWriter& xml, const Upload& upload, bool url_encoded) {
  xml.Open("Upload");
  xml.Leaf("Key", url_encoded ? http::PercentEncode(upload.key, "/") : upload.key);
  xml.Leaf("UploadId", upload.id);
  WriteOwner(xml, "Initiator");
  WriteOwner(xml, "Owner");
  xml.Leaf("StorageClass", upload.attributes.storage_class);
  xml.Leaf("Initiated", IsoTimestamp(upload.initiated));
  if (upload.checksum_kind) {
    xml.Leaf("ChecksumAlgorithm", UpperName(*upload.checksum_kind));
    xml.Leaf("ChecksumType", upload.composite_checksum ? "COMPOSITE" : "FULL_OBJECT");
  }
  xml.Close();
}

size_t PageSize(const Request& request, std::string_view name) {
  const auto asked = ParseNumber(request.query.Get(name));
  return std::min(kMaxListed, static_cast<size_t>(asked.value_or(kMaxListed)));
}

}  // namespace

http::ServerResponse CreateMultipartUpload(const Context& context, const Request& request, std::string_view) {
  Upload upload;
  upload.key = request.key;
  std::optional<Error> error = ReadAttributes(request, upload.attributes);
  if (!error) {
    error = ReadUploadChecksum(request, upload);
  }
  if (error) {
    return ErrorAnswer(request, *error);
  }
  const StoreOutcome outcome = context.store->CreateUpload(request.bucket, upload);
  if (!outcome.ok()) {
    return OutcomeAnswer(request, outcome);
  }
  XmlWriter xml;
  xml.OpenRoot("InitiateMultipartUploadResult");
  xml.Leaf("Bucket", request.bucket);
  xml.Leaf("Key", request.key);
  xml.Leaf("UploadId", outcome.message);
  xml.Close();
  http::ServerResponse answer = XmlAnswer(request, xml.Take());
  if (upload.checksum_kind) {
    answer.headers.Add("x-amz-checksum-algorithm", UpperName(*upload.checksum_kind));
    answer.headers.Add("x-amz-checksum-type", upload.composite_checksum ? "COMPOSITE" : "FULL_OBJECT");
  }
  return answer;
}

std::unique_ptr<http::Exchange> UploadPart(const Context& context, const RequestPointer& request) {
  const std::optional<Upload> upload = context.store->FindUploadHead(request->bucket, request->query.Get("uploadId"));
  ContentPlan plan;
  std::optional<Error> error = PlanContent(*request, context.options->always_md5, plan);
  if (!error) {
    error = JudgePart(*request, upload, plan);
  }
  if (error) {
    return http::ReadyExchange(ErrorAnswer(*request, *error));
  }
  const auto done = [store = context.store, request, id = upload->id,
                     attributes = upload->attributes](CheckedContent content) {
    Part part;
    part.number = static_cast<int>(*ParseNumber(request->query.Get("partNumber")));
    part.size = content.blob.size();
    part.etag = EtagUnder(attributes, std::move(content.etag));
    part.digests = std::move(content.digests);
    part.blob = std::move(content.blob);
    const std::string etag = part.etag;
    const std::optional<ChecksumField> checksum = ChecksumOf(part);
    const Digests digests = part.digests;
    const StoreOutcome outcome = store->PutPart(request->bucket, id, std::move(part));
    if (!outcome.ok()) {
      return OutcomeAnswer(*request, outcome);
    }
    http::ServerResponse answer = Answer(*request);
    answer.headers.Add("ETag", Quoted(etag));
    AddGoogleHash(digests, answer.headers);
    if (checksum) {
      answer.headers.Add("x-amz-checksum-" + std::string(storage::NameOf(checksum->kind)), checksum->text);
    }
    return answer;
  };
  return ReceiveContent(*context.store, request, plan, upload->checksum_kind.value_or(ChecksumKind::kCrc64Nvme), done);
}

http::ServerResponse AbortMultipartUpload(const Context& context, const Request& request, std::string_view) {
  const StoreOutcome outcome = context.store->AbortUpload(request.bucket, request.key, request.query.Get("uploadId"));
  return outcome.ok() ? Answer(request, 204) : OutcomeAnswer(request, outcome);
}

http::ServerResponse ListParts(const Context& context, const Request& request, std::string_view) {
  const std::optional<Upload> upload = context.store->FindUpload(request.bucket, request.query.Get("uploadId"));
  if (!upload || upload->key != request.key) {
    return OutcomeAnswer(request, {StoreCode::kNoSuchUpload, nullptr, {}});
  }
  const size_t most = PageSize(request, "max-parts");
  const int64_t marker = ParseNumber(request.query.Get("part-number-marker")).value_or(0);
  XmlWriter xml;
  xml.OpenRoot("ListPartsResult");
  xml.Leaf("Bucket", request.bucket);
  xml.Leaf("Key", request.key);
  xml.Leaf("UploadId", upload->id);
  WriteOwner(xml, "Initiator");
  WriteOwner(xml, "Owner");
  xml.Leaf("StorageClass", upload->attributes.storage_class);
  xml.Leaf("PartNumberMarker", marker);
  xml.Leaf("MaxParts", static_cast<int64_t>(most));
  if (upload->checksum_kind) {
    xml.Leaf("ChecksumAlgorithm", UpperName(*upload->checksum_kind));
    xml.Leaf("ChecksumType", upload->composite_checksum ? "COMPOSITE" : "FULL_OBJECT");
  }
  auto at = upload->parts.upper_bound(static_cast<int>(std::min<int64_t>(marker, kMaxParts)));
  for (size_t count = 0; at != upload->parts.end() && count < most; ++at, ++count) {
    const Part& part = at->second;
    xml.Open("Part");
    xml.Leaf("PartNumber", static_cast<int64_t>(part.number));
    xml.Leaf("LastModified", IsoTimestamp(part.modified));
    xml.Leaf("ETag", Quoted(part.etag));
    xml.Leaf("Size", part.size);
    WriteChecksums(ChecksumOf(part), false, xml);
    xml.Close();
  }
  xml.Leaf("IsTruncated", at != upload->parts.end());
  if (at != upload->parts.end() && at != upload->parts.begin()) {
    xml.Leaf("NextPartNumberMarker", static_cast<int64_t>(std::prev(at)->first));
  }
  xml.Close();
  return XmlAnswer(request, xml.Take());
}

http::ServerResponse ListMultipartUploads(const Context& context, const Request& request, std::string_view) {
  if (!context.store->FindBucket(request.bucket)) {
    return OutcomeAnswer(request, {StoreCode::kNoSuchBucket, nullptr, {}});
  }
  const std::string prefix = request.query.Get("prefix");
  const std::string key_marker = request.query.Get("key-marker");
  const std::string id_marker = request.query.Get("upload-id-marker");
  std::vector<Upload> uploads = context.store->Uploads(request.bucket);
  bool marker_passed = id_marker.empty();
  std::erase_if(uploads, [&](const Upload& upload) {
    if (!marker_passed && upload.key == key_marker) {
      marker_passed = upload.id == id_marker;
      return true;
    }
    return !upload.key.starts_with(prefix) ||
           (!key_marker.empty() && (id_marker.empty() ? upload.key <= key_marker : upload.key < key_marker));
  });
  const size_t most = PageSize(request, "max-uploads");
  const bool truncated = uploads.size() > most;
  uploads.resize(std::min(most, uploads.size()));
  const bool url_encoded = request.query.Get("encoding-type") == "url";
  XmlWriter xml;
  xml.OpenRoot("ListMultipartUploadsResult");
  xml.Leaf("Bucket", request.bucket);
  xml.Leaf("KeyMarker", key_marker);
  xml.Leaf("UploadIdMarker", id_marker);
  xml.Leaf("Prefix", prefix);
  xml.Leaf("MaxUploads", static_cast<int64_t>(most));
  if (url_encoded) {
    xml.Leaf("EncodingType", "url");
  }
  xml.Leaf("IsTruncated", truncated);
  if (truncated && !uploads.empty()) {
    xml.Leaf("NextKeyMarker", url_encoded ? http::PercentEncode(uploads.back().key, "/") : uploads.back().key);
    xml.Leaf("NextUploadIdMarker", uploads.back().id);
  }
  for (const Upload& upload : uploads) {
    WriteUpload(xml, upload, url_encoded);
  }
  xml.Close();
  return XmlAnswer(request, xml.Take());
}

}  // namespace assay::objectserver::s3
