#include "storage/gcs/gcs_dialect.h"

#include <fmt/format.h>

#include <utility>

#include "storage/gcs/gcs_failure.h"
#include "storage/gcs/gcs_json.h"
#include "storage/gcs/gcs_kind.h"
#include "storage/gcs/multipart_related.h"
#include "storage/s3/s3_xml.h"
#include "storage/store_checks.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

constexpr char kListFields[] =
    "items(name,size,generation,crc32c,md5Hash,updated,storageClass,contentType,metadata),prefixes,nextPageToken";
constexpr char kListKeyFields[] = "items(name,size,generation),prefixes,nextPageToken";

DialectTraits GcsTraits() {
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
std::string GenerationOf(const WriteCondition& condition) {
  switch (condition.kind) {
    case WriteCondition::Kind::kAbsent:
      return "0";
    case WriteCondition::Kind::kMatches:
      return condition.etag;
    case WriteCondition::Kind::kNone:
      return "";
  }
  return "";
}

std::map<std::string, std::string> WithToken(std::map<std::string, std::string> metadata, const std::string& token) {
  if (!token.empty()) {
    metadata[std::string(kWriteTokenName)] = token;
  }
  return metadata;
}

template <typename T>
Dialect::Read<T> ReadBody(const http::Response& answer, Result<T> parsed) {
  return parsed.ok() ? Dialect::Read<T>{*std::move(parsed), std::nullopt}
                     : Dialect::Read<T>{{}, UnreadableAnswer(answer, parsed.status())};
}

template <typename T>
Dialect::Read<T> ReadBody(const http::Response& answer, std::optional<T> parsed) {
  return parsed ? Dialect::Read<T>{*std::move(parsed), std::nullopt} : Dialect::Read<T>{{}, UnreadableAnswer(answer)};
}

}  // namespace

GcsDialect::GcsDialect(GcsUrls urls, const StoreOptions& options)
    : urls_(std::move(urls)), options_(options), traits_(GcsTraits()) {}

std::string GcsDialect::Uri(std::string_view key) const {
  return fmt::format("gs://{}/{}", urls_.bucket(), key);
}

Failure GcsDialect::ReadFailure(const http::Response& answer) const {
  return ReadGcsFailure(answer);
}

Outgoing GcsDialect::Make(const char* method, QueryBuilder url) const {
  Outgoing outgoing;
  outgoing.request.method = method;
  outgoing.request.url = url.Take();
  if (const std::string project = options_.Own(kProjectOption); options_.requester_pays && !project.empty()) {
    outgoing.request.headers.Add("x-goog-user-project", project);
  }
  return outgoing;
}

Outgoing GcsDialect::MakeWithJson(const char* method, QueryBuilder url, std::string json) const {
  Outgoing outgoing = Make(method, std::move(url));
  outgoing.request.headers.Add("Content-Type", "application/json; charset=UTF-8");
  outgoing.source = std::make_unique<TextSource>(std::move(json));
  return outgoing;
}

Outgoing GcsDialect::Head(const std::string& key) const {
  return Make("GET", QueryBuilder(urls_.Object(key)));
}

Dialect::Read<ObjectInfo> GcsDialect::ReadHead(const Asked& asked, const http::Response& answer) const {
  return ReadBody(answer, ParseGcsObject(asked.key, answer.body));
}

Outgoing GcsDialect::Get(const std::string& key, int64_t offset, int64_t length, const std::string& etag) const {
  Outgoing outgoing = Make("GET", QueryBuilder(urls_.Object(key)).Add("alt", "media").Add("ifGenerationMatch", etag));
  outgoing.request.headers.Add("Range", RangeValue(offset, length));
  // As it is stored: what the service would decompress has another length and another checksum.
  outgoing.request.headers.Add("Accept-Encoding", "gzip");
  return outgoing;
}

Dialect::Read<RangeHead> GcsDialect::ReadGet(const Asked& asked, const http::Response& answer) const {
  auto info = GcsInfoOfHeaders(asked.key, answer);
  if (!info) {
    return {{}, UnreadableAnswer(answer)};
  }
  return {RangeHead{*std::move(info), std::nullopt}, std::nullopt};
}

Outgoing GcsDialect::Put(const std::string& key, ChecksumSource& body, const WriteOptions& options,
                         const std::string& token) const {
  Outgoing outgoing = Make("POST", QueryBuilder(urls_.Upload())
                                       .Add("uploadType", "multipart")
                                       .Add("name", key)
                                       .Add("kmsKeyName", options_.encryption_key_id)
                                       .Add("ifGenerationMatch", GenerationOf(options.condition)));
  // The metadata goes first, so the checksum must be known: the service then publishes nothing that differs from it.
  const std::string resource = GcsObjectBody(key, options.content_type, WithToken(options.metadata, token),
                                             options_.storage_class, body.checksum());
  auto source = std::make_unique<MultipartRelatedSource>(resource, options.content_type, body);
  outgoing.request.headers.Add("Content-Type", source->content_type());
  outgoing.source = std::move(source);
  return outgoing;
}

Dialect::Read<ObjectInfo> GcsDialect::ReadPut(const std::string& key, const http::Response& answer) const {
  return ReadBody(answer, ParseGcsObject(key, answer.body));
}

Outgoing GcsDialect::CreateUpload(const std::string& key, const WriteOptions& options, const std::string& token) const {
  Outgoing outgoing = Make("POST", QueryBuilder(urls_.XmlObject(key)).AddFlag("uploads"));
  http::Headers& headers = outgoing.request.headers;
  headers.Add("Content-Type", options.content_type);
  for (const auto& [name, value] : WithToken(options.metadata, token)) {
    headers.Add("x-goog-meta-" + name, value);
  }
  if (!options_.storage_class.empty()) {
    headers.Add("x-goog-storage-class", options_.storage_class);
  }
  if (!options_.encryption_key_id.empty()) {
    headers.Add("x-goog-encryption-kms-key-name", options_.encryption_key_id);
  }
  outgoing.source = std::make_unique<TextSource>("");
  return outgoing;
}

Dialect::Read<std::string> GcsDialect::ReadCreateUpload(const http::Response& answer) const {
  return ReadBody(answer, ParseUploadId(answer.body));
}

Outgoing GcsDialect::PutPart(const std::string& key, const std::string& upload_id, int number,
                             ChecksumSource& body) const {
  Outgoing outgoing = Make(
      "PUT", QueryBuilder(urls_.XmlObject(key)).Add("partNumber", std::to_string(number)).Add("uploadId", upload_id));
  outgoing.request.headers.Add("x-goog-hash", "crc32c=" + body.checksum().Base64());
  return outgoing;
}

Dialect::Read<UploadedPart> GcsDialect::ReadPutPart(const http::Response& answer) const {
  UploadedPart part;
  part.etag = EtagOf(answer.headers.Find("etag").value_or(""));
  part.checksum = GcsHeaderChecksum(answer);
  part.digest = GcsHeaderMd5(answer);
  return {std::move(part), std::nullopt};
}

Outgoing GcsDialect::CompleteUpload(const std::string& key, const std::string& upload_id,
                                    std::span<const UploadedPart> parts, const std::optional<Checksum>& whole,
                                    const WriteOptions& options) const {
  std::vector<UploadedPart> bare(parts.begin(), parts.end());
  for (UploadedPart& part : bare) {
    part.checksum.reset();  // S3's element for it is not known here
  }
  Outgoing outgoing = Make("POST", QueryBuilder(urls_.XmlObject(key)).Add("uploadId", upload_id));
  outgoing.request.headers.Add("Content-Type", "application/xml");
  outgoing.source = std::make_unique<TextSource>(CompleteUploadBody(bare));
  return outgoing;
}

Dialect::Read<ObjectInfo> GcsDialect::ReadCompleteUpload(const std::string& key, const http::Response& answer) const {
  auto info = ParseResultBody(answer.body);
  if (!info) {
    return {{}, UnreadableAnswer(answer)};
  }
  // The body's etag is no generation; where the headers do not name that either, the upload asks for it.
  info->etag = info->version = answer.headers.Find("x-goog-generation").value_or("");
  info->checksum = GcsHeaderChecksum(answer);
  return {*std::move(info), std::nullopt};
}

Outgoing GcsDialect::AbortUpload(const std::string& key, const std::string& upload_id) const {
  return Make("DELETE", QueryBuilder(urls_.XmlObject(key)).Add("uploadId", upload_id));
}

Outgoing GcsDialect::ListParts(const std::string& key, const std::string& upload_id, const std::string& page) const {
  return Make("GET", QueryBuilder(urls_.XmlObject(key)).Add("uploadId", upload_id).Add("part-number-marker", page));
}

Dialect::Read<PartsPage> GcsDialect::ReadListParts(const http::Response& answer) const {
  return ReadBody(answer, ParseParts(answer.body));
}

Outgoing GcsDialect::List(const ListOptions& options) const {
  // Offsets are inclusive; no key holds a byte below 1.
  const std::string start = options.start_after.empty() ? "" : options.start_after + '\1';
  return Make("GET", QueryBuilder(urls_.Objects())
                         .Add("prefix", options.prefix)
                         .Add("delimiter", options.delimiter)
                         .Add("startOffset", start)
                         .Add("endOffset", options.end_before)
                         .Add("pageToken", options.page_token)
                         .Add("maxResults", std::to_string(options.max_keys))
                         .Add("fields", options.keys_only ? kListKeyFields : kListFields));
}

Dialect::Read<ListPage> GcsDialect::ReadList(const http::Response& answer) const {
  return ReadBody(answer, ParseGcsList(answer.body));
}

Outgoing GcsDialect::Remove(const std::string& key) const {
  return Make("DELETE", QueryBuilder(urls_.Object(key)));
}

Result<Outgoing> GcsDialect::MakeBucket() const {
  const std::string project = options_.Own(kProjectOption);
  if (project.empty()) {
    return Status::InvalidArgument("cannot make " + Uri("") +
                                   ": no project is named that it is to belong to (set --project)");
  }
  return MakeWithJson("POST", QueryBuilder(urls_.Buckets()).Add("project", project),
                      GcsBucketResource(urls_.bucket(), options_));
}

Outgoing GcsDialect::RemoveBucket() const {
  return Make("DELETE", QueryBuilder(urls_.Bucket()));
}

Outgoing GcsDialect::Rewrite(const std::string& from_bucket, const ObjectInfo& from, const std::string& to,
                             const WriteCondition& condition, const std::string& resource,
                             const std::string& rewrite_token) const {
  return MakeWithJson("POST",
                      QueryBuilder(urls_.Rewrite(from_bucket, from.key, to))
                          .Add("rewriteToken", rewrite_token)
                          .Add("ifSourceGenerationMatch", from.etag)
                          .Add("destinationKmsKeyName", options_.encryption_key_id)
                          .Add("ifGenerationMatch", GenerationOf(condition)),
                      resource);
}

Outgoing GcsDialect::Compose(std::span<const ObjectInfo> sources, const std::string& to,
                             const WriteOptions& options) const {
  return MakeWithJson("POST",
                      QueryBuilder(urls_.Compose(to))
                          .Add("kmsKeyName", options_.encryption_key_id)
                          .Add("ifGenerationMatch", GenerationOf(options.condition)),
                      GcsComposeBody(sources, options.content_type, options.metadata, options_.storage_class));
}

Outgoing GcsDialect::ListUploads(const std::string& prefix, const std::string& key_marker,
                                 const std::string& id_marker) const {
  return Make("GET", QueryBuilder(urls_.XmlBucket())
                         .AddFlag("uploads")
                         .Add("prefix", prefix)
                         .Add("key-marker", key_marker)
                         .Add("upload-id-marker", id_marker));
}

Outgoing GcsDialect::BeginResumable(const std::string& key, const WriteOptions& options,
                                    const std::string& token) const {
  Outgoing outgoing =
      MakeWithJson("POST",
                   QueryBuilder(urls_.Upload())
                       .Add("uploadType", "resumable")
                       .Add("name", key)
                       .Add("kmsKeyName", options_.encryption_key_id)
                       .Add("ifGenerationMatch", GenerationOf(options.condition)),
                   GcsObjectBody(key, options.content_type, WithToken(options.metadata, token), options_.storage_class,
                                 options.expected && options.expected->kind == ChecksumKind::kCrc32c ? options.expected
                                                                                                     : std::nullopt));
  outgoing.request.headers.Add("X-Upload-Content-Type", options.content_type);
  return outgoing;
}

}  // namespace assay::storage
