#include "storage/s3/s3_dialect.h"

#include <fmt/format.h>

#include <utility>

#include "storage/auth/sha256.h"
#include "storage/auth/sigv4.h"
#include "storage/s3/aws_chunked.h"
#include "storage/s3/s3_failure.h"
#include "storage/s3/s3_xml.h"
#include "storage/store_checks.h"
#include "storage/transfer/checksum_parts.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

constexpr char kMetadataPrefix[] = "x-amz-meta-";
constexpr char kUploadIdQuery[] = "uploadId=";

Conditions ConditionsOf(const S3Address& address, const StoreOptions& options) {
  switch (S3OptionsOf(options).conditional_writes) {
    case ConditionalWrites::kYes:
      return Conditions::kKept;
    case ConditionalWrites::kNo:
      return Conditions::kNotKept;
    case ConditionalWrites::kAuto:
      break;
  }
  return address.is_amazons() ? Conditions::kKept : Conditions::kUnknown;
}

DialectTraits S3Traits(Conditions conditions) {
  DialectTraits traits;
  traits.conditions = conditions;
  traits.capabilities = {.conditional_create = conditions != Conditions::kNotKept,
                         .conditional_replace = conditions != Conditions::kNotKept,
                         .compose = true,
                         .presign = true,
                         .unfinished_uploads = true,
                         .resumable_uploads = true};
  traits.checksum = ChecksumKind::kCrc64Nvme;
  return traits;
}

std::string Quoted(const std::string& etag) {
  return '"' + etag + '"';
}

void AddCondition(http::Headers& headers, const WriteCondition& condition) {
  if (condition.kind == WriteCondition::Kind::kAbsent) {
    headers.Add("If-None-Match", "*");
  } else if (condition.kind == WriteCondition::Kind::kMatches) {
    headers.Add("If-Match", Quoted(condition.etag));
  }
}

template <typename T>
Dialect::Read<T> Unreadable(const http::Response& answer) {
  return {{}, FailureOfS3Body(answer, ParseS3Error(answer.body))};
}

template <typename T>
Dialect::Read<T> ReadBody(const http::Response& answer, Result<T> parsed) {
  return parsed.ok() ? Dialect::Read<T>{*std::move(parsed), std::nullopt}
                     : Dialect::Read<T>{{}, FailureOfS3Body(answer, parsed.status())};
}

template <typename T>
Dialect::Read<T> ReadBody(const http::Response& answer, std::optional<T> parsed) {
  return parsed ? Dialect::Read<T>{*std::move(parsed), std::nullopt} : Unreadable<T>(answer);
}

std::string UploadQuery(const std::string& upload_id) {
  return kUploadIdQuery + http::PercentEncode(upload_id);
}

void AddParameter(std::string& query, std::string_view name, std::string_view value) {
  if (!value.empty()) {
    query += fmt::format("&{}={}", name, http::PercentEncode(value));
  }
}

}  // namespace

std::optional<Checksum> S3HeaderChecksum(const http::Response& answer) {
  if (answer.headers.Find("x-amz-checksum-type") == "COMPOSITE") {
    return std::nullopt;
  }
  for (const ChecksumKind kind : {ChecksumKind::kCrc64Nvme, ChecksumKind::kCrc32c, ChecksumKind::kCrc32,
                                  ChecksumKind::kSha256, ChecksumKind::kSha1}) {
    const auto text = answer.headers.Find(fmt::format("x-amz-checksum-{}", NameOf(kind)));
    const auto value = text ? Base64Decode(*text) : std::nullopt;
    if (value && value->size() == DigestBytes(kind)) {
      return Checksum{kind, *value};
    }
  }
  return std::nullopt;
}

S3Dialect::S3Dialect(const S3Address& address, std::string region, const StoreOptions& options)
    : S3Dialect(address, std::move(region), options, S3Traits(ConditionsOf(address, options))) {}

S3Dialect::S3Dialect(S3Address address, std::string region, const StoreOptions& options, DialectTraits traits)
    : address_(std::move(address)),
      region_(std::move(region)),
      options_(options),
      own_(S3OptionsOf(options)),
      traits_(traits) {}

std::string S3Dialect::PartQuery(const std::string& upload_id, int number) {
  return fmt::format("partNumber={}&{}", number, UploadQuery(upload_id));
}

std::string S3Dialect::Uri(std::string_view key) const {
  return fmt::format("s3://{}/{}", address_.bucket(), key);
}

Failure S3Dialect::ReadFailure(const http::Response& answer) const {
  return ReadS3Failure(answer, region_);
}

Outgoing S3Dialect::Make(const char* method, std::string url) const {
  Outgoing outgoing;
  outgoing.request.method = method;
  outgoing.request.url = std::move(url);
  outgoing.payload_hash = kEmptyPayloadHash;
  if (options_.requester_pays) {
    outgoing.request.headers.Add("x-amz-request-payer", "requester");
  }
  return outgoing;
}

Outgoing S3Dialect::MakeWithText(const char* method, std::string url, std::string text) const {
  Outgoing outgoing = Make(method, std::move(url));
  outgoing.payload_hash = Hex(Sha256(text));
  outgoing.request.headers.Add("Content-Type", "application/xml");
  outgoing.source = std::make_unique<TextSource>(std::move(text));
  return outgoing;
}

Outgoing S3Dialect::Head(const std::string& key) const {
  Outgoing outgoing = Make("HEAD", address_.ObjectUrl(key));
  outgoing.request.headers.Add("x-amz-checksum-mode", "ENABLED");
  return outgoing;
}

Dialect::Read<ObjectInfo> S3Dialect::ReadHead(const Asked& asked, const http::Response& answer) const {
  std::optional<ObjectInfo> info = ObjectInfoOf(asked.key, answer, kMetadataPrefix);
  if (!info) {
    return Unreadable<ObjectInfo>(answer);
  }
  info->version = answer.headers.Find("x-amz-version-id").value_or("");
  info->storage_class = answer.headers.Find("x-amz-storage-class").value_or("");
  info->checksum = S3HeaderChecksum(answer);
  return {*std::move(info), std::nullopt};
}

Outgoing S3Dialect::Get(const std::string& key, int64_t offset, int64_t length, const std::string& etag) const {
  Outgoing outgoing = Make("GET", address_.ObjectUrl(key));
  http::Headers& headers = outgoing.request.headers;
  headers.Add("Range", RangeValue(offset, length));
  headers.Add("x-amz-checksum-mode", "ENABLED");
  if (!etag.empty()) {
    headers.Add("If-Match", Quoted(etag));
  }
  return outgoing;
}

Dialect::Read<RangeHead> S3Dialect::ReadGet(const Asked& asked, const http::Response& answer) const {
  Read<ObjectInfo> info = ReadHead(asked, answer);
  if (info.failure) {
    return {{}, std::move(info.failure)};
  }
  RangeHead head{std::move(info.value), std::nullopt};
  // With a range that is a part's, S3 sends the part's checksum under the name of the whole's.
  const auto length = ParseCount(answer.headers.Find("content-length").value_or(""));
  if (answer.status == 206 && length != head.info.size) {
    head.range_checksum = std::exchange(head.info.checksum, std::nullopt);
  }
  return {std::move(head), std::nullopt};
}

void S3Dialect::AddNewObjectHeaders(http::Headers& headers, const WriteOptions& options,
                                    const std::string& token) const {
  headers.Add("Content-Type", options.content_type);
  for (const auto& [name, value] : options.metadata) {
    headers.Add(kMetadataPrefix + name, value);
  }
  if (!token.empty()) {
    headers.Set(kMetadataPrefix + std::string(kWriteTokenName), token);
  }
  if (!options_.storage_class.empty()) {
    headers.Add("x-amz-storage-class", options_.storage_class);
  }
  if (!own_.encryption.empty()) {
    headers.Add("x-amz-server-side-encryption", own_.encryption);
  }
  if (!options_.encryption_key_id.empty()) {
    headers.Add("x-amz-server-side-encryption-aws-kms-key-id", options_.encryption_key_id);
  }
}

void S3Dialect::AddChecksum(Outgoing& outgoing, ChecksumSource& body) const {
  http::Headers& headers = outgoing.request.headers;
  if (!own_.trailing_checksums.value_or(address_.is_amazons())) {
    headers.Add(fmt::format("x-amz-checksum-{}", NameOf(body.kind())), body.checksum().Base64());
    outgoing.payload_hash = kUnsignedPayload;
    return;
  }
  auto chunked = std::make_unique<AwsChunkedSource>(body);
  headers.Add("Content-Encoding", "aws-chunked");
  headers.Add("x-amz-decoded-content-length", std::to_string(body.bytes()));
  headers.Add("x-amz-trailer", chunked->trailer_name());
  // Signers add it too, but a request without a signature needs it as well: it tells how the body is to be read.
  headers.Add("x-amz-content-sha256", kStreamingUnsignedTrailer);
  outgoing.payload_hash = kStreamingUnsignedTrailer;
  outgoing.source = std::move(chunked);
}

Outgoing S3Dialect::Put(const std::string& key, ChecksumSource& body, const WriteOptions& options,
                        const std::string& token) const {
  Outgoing outgoing = Make("PUT", address_.ObjectUrl(key));
  AddNewObjectHeaders(outgoing.request.headers, options, token);
  AddCondition(outgoing.request.headers, options.condition);
  AddChecksum(outgoing, body);
  return outgoing;
}

Dialect::Read<ObjectInfo> S3Dialect::ReadPut(const std::string& key, const http::Response& answer) const {
  ObjectInfo info;
  info.key = key;
  info.etag = EtagOf(answer.headers.Find("etag").value_or(""));
  info.version = answer.headers.Find("x-amz-version-id").value_or("");
  info.checksum = S3HeaderChecksum(answer);
  return {std::move(info), std::nullopt};
}

Outgoing S3Dialect::CreateUpload(const std::string& key, const WriteOptions& options, const std::string& token) const {
  Outgoing outgoing = Make("POST", address_.ObjectUrl(key, "uploads="));
  AddNewObjectHeaders(outgoing.request.headers, options, token);
  outgoing.request.headers.Add("x-amz-checksum-algorithm", S3ChecksumName(traits_.checksum));
  outgoing.request.headers.Add("x-amz-checksum-type", "FULL_OBJECT");
  return outgoing;
}

Dialect::Read<std::string> S3Dialect::ReadCreateUpload(const http::Response& answer) const {
  return ReadBody(answer, ParseUploadId(answer.body));
}

Outgoing S3Dialect::PutPart(const std::string& key, const std::string& upload_id, int number,
                            ChecksumSource& body) const {
  Outgoing outgoing = Make("PUT", address_.ObjectUrl(key, PartQuery(upload_id, number)));
  AddChecksum(outgoing, body);
  return outgoing;
}

Dialect::Read<UploadedPart> S3Dialect::ReadPutPart(const http::Response& answer) const {
  UploadedPart part;
  part.etag = EtagOf(answer.headers.Find("etag").value_or(""));
  part.checksum = S3HeaderChecksum(answer);
  return {std::move(part), std::nullopt};
}

Outgoing S3Dialect::CompleteUpload(const std::string& key, const std::string& upload_id,
                                   std::span<const UploadedPart> parts, const std::optional<Checksum>& whole,
                                   const WriteOptions& options) const {
  Outgoing outgoing = MakeWithText("POST", address_.ObjectUrl(key, UploadQuery(upload_id)), CompleteUploadBody(parts));
  http::Headers& headers = outgoing.request.headers;
  AddCondition(headers, options.condition);
  if (whole && IsCombinable(whole->kind)) {
    headers.Add(fmt::format("x-amz-checksum-{}", NameOf(whole->kind)), whole->Base64());
    headers.Add("x-amz-checksum-type", "FULL_OBJECT");
  }
  int64_t total = 0;
  for (const UploadedPart& part : parts) {
    total += part.bytes;
  }
  headers.Add("x-amz-mp-object-size", std::to_string(total));
  return outgoing;
}

Dialect::Read<ObjectInfo> S3Dialect::ReadCompleteUpload(const std::string& key, const http::Response& answer) const {
  Read<ObjectInfo> info = ReadBody(answer, ParseResultBody(answer.body));
  if (!info.failure) {
    info.failure = FailureWithoutEtag(info.value);
  }
  info.value.key = key;
  info.value.version = answer.headers.Find("x-amz-version-id").value_or("");
  return info;
}

Outgoing S3Dialect::AbortUpload(const std::string& key, const std::string& upload_id) const {
  return Make("DELETE", address_.ObjectUrl(key, UploadQuery(upload_id)));
}

Outgoing S3Dialect::List(const ListOptions& options) const {
  std::string query = fmt::format("list-type=2&encoding-type=url&max-keys={}", options.max_keys);
  AddParameter(query, "prefix", options.prefix);
  AddParameter(query, "delimiter", options.delimiter);
  AddParameter(query, "start-after", options.start_after);
  AddParameter(query, "continuation-token", options.page_token);
  return Make("GET", address_.BucketUrl(query));
}

Dialect::Read<ListPage> S3Dialect::ReadList(const http::Response& answer) const {
  return ReadBody(answer, ParseListPage(answer.body));
}

Outgoing S3Dialect::Remove(const std::string& key) const {
  return Make("DELETE", address_.ObjectUrl(key));
}

Result<Outgoing> S3Dialect::MakeBucket() const {
  // The oldest region is the one that must not be named.
  return region_ == "us-east-1" ? Make("PUT", address_.BucketUrl(""))
                                : MakeWithText("PUT", address_.BucketUrl(""), CreateBucketBody(region_));
}

Outgoing S3Dialect::RemoveBucket() const {
  return Make("DELETE", address_.BucketUrl(""));
}

Outgoing S3Dialect::Copy(const std::string& from_bucket, const std::string& from, const std::string& from_etag,
                         const std::string& to, const WriteOptions& options) const {
  Outgoing outgoing = Make("PUT", address_.ObjectUrl(to));
  http::Headers& headers = outgoing.request.headers;
  AddNewObjectHeaders(headers, options, "");
  AddCondition(headers, options.condition);
  headers.Add("x-amz-copy-source", fmt::format("/{}/{}", from_bucket, http::PercentEncode(from, "/")));
  headers.Add("x-amz-copy-source-if-match", Quoted(from_etag));
  headers.Add("x-amz-metadata-directive", "REPLACE");
  return outgoing;
}

Outgoing S3Dialect::CopyPart(const std::string& from, const std::string& from_etag, int64_t offset, int64_t length,
                             const std::string& to, const std::string& upload_id, int number) const {
  Outgoing outgoing = Make("PUT", address_.ObjectUrl(to, PartQuery(upload_id, number)));
  http::Headers& headers = outgoing.request.headers;
  headers.Add("x-amz-copy-source", fmt::format("/{}/{}", address_.bucket(), http::PercentEncode(from, "/")));
  headers.Add("x-amz-copy-source-range", RangeValue(offset, length));
  headers.Add("x-amz-copy-source-if-match", Quoted(from_etag));
  return outgoing;
}

Dialect::Read<ObjectInfo> S3Dialect::ReadCopy(const http::Response& answer) const {
  Read<ObjectInfo> read = ReadBody(answer, ParseResultBody(answer.body));
  if (!read.failure) {
    read.failure = FailureWithoutEtag(read.value);
  }
  return read;
}

Outgoing S3Dialect::RemoveBatch(std::span<const std::string> keys) const {
  std::string text = DeleteBody(keys);
  const Checksum md5 = ChecksumOf(ChecksumKind::kMd5, std::as_bytes(std::span(text)));
  Outgoing outgoing = MakeWithText("POST", address_.BucketUrl("delete="), std::move(text));
  outgoing.request.headers.Add("Content-MD5", md5.Base64());
  return outgoing;
}

Outgoing S3Dialect::ListUploads(const std::string& prefix, const std::string& key_marker,
                                const std::string& id_marker) const {
  std::string query = "uploads=&encoding-type=url";
  AddParameter(query, "prefix", prefix);
  AddParameter(query, "key-marker", key_marker);
  AddParameter(query, "upload-id-marker", id_marker);
  return Make("GET", address_.BucketUrl(query));
}

Outgoing S3Dialect::ListParts(const std::string& key, const std::string& upload_id, const std::string& page) const {
  std::string query = UploadQuery(upload_id);
  AddParameter(query, "part-number-marker", page);
  return Make("GET", address_.ObjectUrl(key, query));
}

Dialect::Read<PartsPage> S3Dialect::ReadListParts(const http::Response& answer) const {
  return ReadBody(answer, ParseParts(answer.body));
}

}  // namespace assay::storage
