// CompleteMultipartUpload.
#include <fmt/format.h>

#include <optional>
#include <pugixml.hpp>
#include <utility>

#include "base/text.h"
#include "objectserver/s3/checksum_fields.h"
#include "objectserver/s3/conditions.h"
#include "objectserver/s3/operations.h"
#include "objectserver/s3/xml.h"

namespace assay::objectserver::s3 {
namespace {

using storage::ChecksumKind;

constexpr int64_t kMinPartBytes = 5 << 20;

/// A part as the client names it.
struct NamedPart {
  int number = 0;
  std::string etag;
  std::string checksum;  ///< base64, of the upload's kind; empty: not given
};

std::optional<Error> ReadParts(std::string_view body, const Upload& upload, std::vector<NamedPart>& parts) {
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size())) {
    return Error{"MalformedXML"};
  }
  const std::string checksum_name =
      upload.checksum_kind ? "Checksum" + UpperName(*upload.checksum_kind) : std::string("ChecksumCRC64NVME");
  for (const pugi::xml_node node : document.child("CompleteMultipartUpload").children("Part")) {
    const auto number = ParseNumber(Trim(node.child("PartNumber").text().get()));
    std::string etag(Trim(node.child("ETag").text().get()));
    if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
      etag = etag.substr(1, etag.size() - 2);
    }
    if (!number || *number < 1 || *number > 10000 || etag.empty()) {
      return Error{"MalformedXML"};
    }
    parts.push_back({static_cast<int>(*number), std::move(etag), node.child(checksum_name.c_str()).text().get()});
  }
  return parts.empty() ? std::optional(Error{"MalformedXML"}) : std::nullopt;
}

std::optional<Error> JudgeChecksum(const Upload& upload, const NamedPart& named, const Part& part) {
  if (upload.checksum_kind && upload.composite_checksum && named.checksum.empty()) {
    return Error{"InvalidRequest",
                 fmt::format("The upload was created using a {} checksum. The complete request must include the "
                             "checksum for each part. It was missing for part {} in the request.",
                             storage::NameOf(*upload.checksum_kind), named.number)};
  }
  const auto found = part.digests.find(upload.checksum_kind.value_or(ChecksumKind::kCrc64Nvme));
  if (!named.checksum.empty() && found != part.digests.end() &&
      storage::Base64Encode(found->second) != named.checksum) {
    return Error{"InvalidPart", {}, 0, {{"PartNumber", std::to_string(named.number)}}};
  }
  return std::nullopt;
}

/// The parts of the object, in order; an error for a list that S3 would refuse.
std::optional<Error> ChooseParts(const Upload& upload, const std::vector<NamedPart>& named, std::vector<Part>& parts) {
  for (const NamedPart& name : named) {
    if (!parts.empty() && name.number <= parts.back().number) {
      return Error{"InvalidPartOrder"};
    }
    const auto found = upload.parts.find(name.number);
    if (found == upload.parts.end() || found->second.etag != name.etag) {
      return Error{"InvalidPart",
                   {},
                   0,
                   {{"UploadId", upload.id}, {"PartNumber", std::to_string(name.number)}, {"ETag", name.etag}}};
    }
    if (std::optional<Error> error = JudgeChecksum(upload, name, found->second)) {
      return error;
    }
    parts.push_back(found->second);
  }
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i].size < kMinPartBytes) {
      return Error{"EntityTooSmall",
                   {},
                   0,
                   {{"ProposedSize", std::to_string(parts[i].size)},
                    {"MinSizeAllowed", std::to_string(kMinPartBytes)},
                    {"PartNumber", std::to_string(parts[i].number)},
                    {"ETag", parts[i].etag}}};
    }
  }
  return std::nullopt;
}

/// The parts' digests of one kind; nothing when one of them has none.
std::optional<std::vector<std::string>> DigestsOf(const std::vector<Part>& parts, ChecksumKind kind) {
  std::vector<std::string> digests;
  for (const Part& part : parts) {
    const auto found = part.digests.find(kind);
    if (found == part.digests.end()) {
      return std::nullopt;
    }
    digests.push_back(found->second);
  }
  return digests;
}

/// The checksum of the whole: from those of the parts where they combine, else the checksum of the checksums.
void SetChecksums(const Upload& upload, ObjectRecord& object) {
  std::vector<int64_t> sizes;
  for (const Part& part : object.parts) {
    sizes.push_back(part.size);
  }
  const ChecksumKind kind = upload.checksum_kind.value_or(ChecksumKind::kCrc64Nvme);
  for (const ChecksumKind combined : {kind, ChecksumKind::kCrc32c}) {
    const auto digests = DigestsOf(object.parts, combined);
    if (digests && CanCombine(combined) && !upload.composite_checksum) {
      object.digests[combined] = CombineDigests(combined, *digests, sizes);
    }
  }
  const auto digests = DigestsOf(object.parts, kind);
  if (digests && upload.composite_checksum) {
    const std::string joined = Join(*digests, "");
    object.composite_kind = kind;
    object.composite_digest = storage::ChecksumOf(kind, std::as_bytes(std::span(joined))).value;
  }
}

ObjectRecord Assemble(const Upload& upload, std::vector<Part> parts) {
  ObjectRecord object;
  object.key = upload.key;
  object.attributes = upload.attributes;
  std::vector<std::string> etags;
  for (Part& part : parts) {
    object.blob.Append(part.blob);
    part.blob = {};
    etags.push_back(part.etag);
  }
  object.etag = MultipartEtag(etags);
  object.parts = std::move(parts);
  SetChecksums(upload, object);
  return object;
}

/// What the client says of the whole object.
std::optional<Error> JudgeWhole(const Request& request, const ObjectRecord& object) {
  const auto size = request.Header("x-amz-mp-object-size");
  if (size && ParseNumber(*size) != object.size()) {
    return Error{"InvalidRequest",
                 fmt::format("The provided 'x-amz-mp-object-size' header value {} does not match what was computed: {}",
                             *size, object.size())};
  }
  const auto field = ChecksumOf(object);
  if (field) {
    const auto sent = request.Header("x-amz-checksum-" + std::string(storage::NameOf(field->kind)));
    if (sent && !field->composite && *sent != field->text) {
      return Error{"BadDigest",
                   fmt::format("The {} you specified did not match the calculated checksum.", UpperName(field->kind))};
    }
  }
  return std::nullopt;
}

http::ServerResponse Completed(const Request& request, const ObjectRecord& object) {
  XmlWriter xml;
  xml.OpenRoot("CompleteMultipartUploadResult");
  xml.Leaf("Location", request.head.origin() + request.resource());
  xml.Leaf("Bucket", request.bucket);
  xml.Leaf("Key", request.key);
  xml.Leaf("ETag", Quoted(object.etag));
  WriteChecksums(ChecksumOf(object), true, xml);
  xml.Close();
  http::ServerResponse answer = XmlAnswer(request, xml.Take());
  answer.headers.Add("x-goog-generation", std::to_string(object.generation));
  AddGoogleHash(object.digests, answer.headers);
  return answer;
}

}  // namespace

http::ServerResponse CompleteMultipartUpload(const Context& context, const Request& request, std::string_view body) {
  const std::string id = request.query.Get("uploadId");
  const std::optional<Upload> upload = context.store->FindUpload(request.bucket, id);
  if (!upload || upload->key != request.key) {
    // Asked again after the answer was lost: the object is there, and it is this upload's.
    const StoreOutcome current = context.store->Find(request.bucket, request.key);
    if (current.ok() && current.object->upload_id == id && !id.empty()) {
      return Completed(request, *current.object);
    }
    return OutcomeAnswer(request, {StoreCode::kNoSuchUpload, nullptr, {}});
  }
  std::vector<NamedPart> named;
  std::vector<Part> parts;
  Condition condition;
  std::optional<Error> error = ReadParts(body, *upload, named);
  if (!error) {
    error = ChooseParts(*upload, named, parts);
  }
  if (!error) {
    error = ReadWriteCondition(request, condition);
  }
  if (error) {
    return ErrorAnswer(request, *error);
  }
  ObjectRecord object = Assemble(*upload, std::move(parts));
  if (const std::optional<Error> mismatch = JudgeWhole(request, object)) {
    return ErrorAnswer(request, *mismatch);
  }
  const StoreOutcome outcome = context.store->CompleteUpload(request.bucket, id, std::move(object), condition);
  return outcome.ok() ? Completed(request, *outcome.object) : OutcomeAnswer(request, outcome);
}

}  // namespace assay::objectserver::s3
