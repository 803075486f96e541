#include "storage/gcs/gcs_xml_dialect.h"

#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>
#include <utility>

#include "storage/auth/sigv4.h"
#include "storage/gcs/gcs_failure.h"
#include "storage/gcs/gcs_json.h"
#include "storage/gcs/gcs_kind.h"
#include "storage/s3/s3_xml.h"
#include "storage/store_checks.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

DialectTraits XmlTraits() {
  DialectTraits traits;
  traits.capabilities = {.conditional_create = true,
                         .conditional_replace = true,
                         .compose = true,
                         .presign = true,
                         .unfinished_uploads = true,
                         .resumable_uploads = true};
  traits.checksum = ChecksumKind::kCrc32c;
  traits.parts_take_conditions = false;
  return traits;
}

/// Generation 0 is that of an object that is not there.
void AddCondition(http::Headers& headers, const WriteCondition& condition) {
  if (condition.kind != WriteCondition::Kind::kNone) {
    headers.Add("x-goog-if-generation-match", condition.kind == WriteCondition::Kind::kAbsent ? "0" : condition.etag);
  }
}

void AddHash(Outgoing& outgoing, ChecksumSource& body) {
  outgoing.request.headers.Add("x-goog-hash", "crc32c=" + body.checksum().Base64());
  outgoing.payload_hash = kUnsignedPayload;
}

std::string ComposeDocument(std::span<const ObjectInfo> sources) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("ComposeRequest");
  for (const ObjectInfo& source : sources) {
    pugi::xml_node component = root.append_child("Component");
    component.append_child("Name").text().set(source.key.c_str());
    // An object of our own, made on the way to one of many sources, need not have told its generation.
    if (!source.etag.empty()) {
      component.append_child("Generation").text().set(source.etag.c_str());
    }
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw);
  return text.str();
}

void TakeGeneration(const http::Response& answer, ObjectInfo& info) {
  info.etag = info.version = answer.headers.Find("x-goog-generation").value_or("");
}

}  // namespace

GcsXmlDialect::GcsXmlDialect(S3Address address, const StoreOptions& options)
    : S3Dialect(std::move(address), "auto", options, XmlTraits()) {}

std::string GcsXmlDialect::Uri(std::string_view key) const {
  return fmt::format("gs://{}/{}", address().bucket(), key);
}

Failure GcsXmlDialect::ReadFailure(const http::Response& answer) const {
  return ReadGcsFailure(answer);
}

Outgoing GcsXmlDialect::Make(const char* method, std::string url) const {
  Outgoing outgoing;
  outgoing.request.method = method;
  outgoing.request.url = std::move(url);
  outgoing.payload_hash = kEmptyPayloadHash;
  if (const std::string project = options().Own(kProjectOption); options().requester_pays && !project.empty()) {
    outgoing.request.headers.Add("x-goog-user-project", project);
  }
  return outgoing;
}

void GcsXmlDialect::AddNewObjectHeaders(http::Headers& headers, const WriteOptions& write,
                                        const std::string& token) const {
  headers.Add("Content-Type", write.content_type);
  for (const auto& [name, value] : write.metadata) {
    headers.Add(kGcsMetadataPrefix + name, value);
  }
  if (!token.empty()) {
    headers.Set(kGcsMetadataPrefix + std::string(kWriteTokenName), token);
  }
  if (!options().storage_class.empty()) {
    headers.Add("x-goog-storage-class", options().storage_class);
  }
  if (!options().encryption_key_id.empty()) {
    headers.Add("x-goog-encryption-kms-key-name", options().encryption_key_id);
  }
}

Result<Outgoing> GcsXmlDialect::MakeBucket() const {
  Outgoing outgoing = Make("PUT", address().BucketUrl(""));
  // Without it, the one that was chosen for who comes from S3.
  if (const std::string project = options().Own(kProjectOption); !project.empty()) {
    outgoing.request.headers.Add("x-goog-project-id", project);
  }
  return outgoing;
}

Outgoing GcsXmlDialect::Head(const std::string& key) const {
  return Make("HEAD", address().ObjectUrl(key));
}

Dialect::Read<ObjectInfo> GcsXmlDialect::ReadHead(const Asked& asked, const http::Response& answer) const {
  std::optional<ObjectInfo> info = ObjectInfoOf(asked.key, answer, kGcsMetadataPrefix);
  if (!info) {
    return {{}, UnreadableAnswer(answer)};
  }
  TakeGeneration(answer, *info);
  info->storage_class = answer.headers.Find("x-goog-storage-class").value_or("");
  info->checksum = GcsHeaderChecksum(answer);
  return {*std::move(info), std::nullopt};
}

Outgoing GcsXmlDialect::Get(const std::string& key, int64_t offset, int64_t length, const std::string& etag) const {
  Outgoing outgoing = Make("GET", address().ObjectUrl(key));
  http::Headers& headers = outgoing.request.headers;
  headers.Add("Range", RangeValue(offset, length));
  // As it is stored: what the service would decompress has another length and another checksum.
  headers.Add("Accept-Encoding", "gzip");
  if (!etag.empty()) {
    headers.Add("x-goog-if-generation-match", etag);
  }
  return outgoing;
}

Dialect::Read<RangeHead> GcsXmlDialect::ReadGet(const Asked& asked, const http::Response& answer) const {
  Read<ObjectInfo> info = ReadHead(asked, answer);
  return {RangeHead{std::move(info.value), std::nullopt}, std::move(info.failure)};
}

Outgoing GcsXmlDialect::Put(const std::string& key, ChecksumSource& body, const WriteOptions& write,
                            const std::string& token) const {
  Outgoing outgoing = Make("PUT", address().ObjectUrl(key));
  AddNewObjectHeaders(outgoing.request.headers, write, token);
  AddCondition(outgoing.request.headers, write.condition);
  AddHash(outgoing, body);
  return outgoing;
}

Dialect::Read<ObjectInfo> GcsXmlDialect::ReadPut(const std::string& key, const http::Response& answer) const {
  ObjectInfo info;
  info.key = key;
  TakeGeneration(answer, info);
  info.checksum = GcsHeaderChecksum(answer);
  return {std::move(info), std::nullopt};
}

Outgoing GcsXmlDialect::CreateUpload(const std::string& key, const WriteOptions& write,
                                     const std::string& token) const {
  Outgoing outgoing = Make("POST", address().ObjectUrl(key, "uploads="));
  AddNewObjectHeaders(outgoing.request.headers, write, token);
  return outgoing;
}

Outgoing GcsXmlDialect::PutPart(const std::string& key, const std::string& upload_id, int number,
                                ChecksumSource& body) const {
  Outgoing outgoing = Make("PUT", address().ObjectUrl(key, PartQuery(upload_id, number)));
  AddHash(outgoing, body);
  return outgoing;
}

Dialect::Read<UploadedPart> GcsXmlDialect::ReadPutPart(const http::Response& answer) const {
  UploadedPart part;
  part.etag = EtagOf(answer.headers.Find("etag").value_or(""));
  part.checksum = GcsHeaderChecksum(answer);
  part.digest = GcsHeaderMd5(answer);
  return {std::move(part), std::nullopt};
}

Outgoing GcsXmlDialect::CompleteUpload(const std::string& key, const std::string& upload_id,
                                       std::span<const UploadedPart> parts, const std::optional<Checksum>& whole,
                                       const WriteOptions& write) const {
  std::vector<UploadedPart> bare(parts.begin(), parts.end());
  for (UploadedPart& part : bare) {
    part.checksum.reset();  // S3's element for it is not known here
  }
  return MakeWithText("POST", address().ObjectUrl(key, "uploadId=" + http::PercentEncode(upload_id)),
                      CompleteUploadBody(bare));
}

Dialect::Read<ObjectInfo> GcsXmlDialect::ReadCompleteUpload(const std::string& key,
                                                            const http::Response& answer) const {
  Read<ObjectInfo> info = S3Dialect::ReadCompleteUpload(key, answer);
  // The body's etag is no generation; where the headers do not name that either, the upload asks for it.
  TakeGeneration(answer, info.value);
  info.value.checksum = GcsHeaderChecksum(answer);
  return info;
}

Outgoing GcsXmlDialect::Compose(std::span<const ObjectInfo> sources, const std::string& to,
                                const WriteOptions& write) const {
  Outgoing outgoing = MakeWithText("PUT", address().ObjectUrl(to, "compose="), ComposeDocument(sources));
  // The headers are the new object's; the document needs none.
  outgoing.request.headers.Remove("Content-Type");
  AddNewObjectHeaders(outgoing.request.headers, write, "");
  AddCondition(outgoing.request.headers, write.condition);
  return outgoing;
}

Outgoing GcsXmlDialect::Copy(const std::string& from_bucket, const std::string& from, const std::string& from_etag,
                             const std::string& to, const WriteOptions& write) const {
  Outgoing outgoing = Make("PUT", address().ObjectUrl(to));
  http::Headers& headers = outgoing.request.headers;
  AddNewObjectHeaders(headers, write, "");
  AddCondition(headers, write.condition);
  headers.Add("x-goog-copy-source", fmt::format("/{}/{}", from_bucket, http::PercentEncode(from, "/")));
  headers.Add("x-goog-copy-source-if-generation-match", from_etag);
  headers.Add("x-goog-metadata-directive", "REPLACE");
  return outgoing;
}

Dialect::Read<ObjectInfo> GcsXmlDialect::ReadCopy(const http::Response& answer) const {
  Read<ObjectInfo> info = S3Dialect::ReadCopy(answer);
  TakeGeneration(answer, info.value);
  info.value.checksum = GcsHeaderChecksum(answer);
  return info;
}

}  // namespace assay::storage
