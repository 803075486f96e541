#include "storage/oci/oci_dialect.h"

#include <fmt/format.h>

#include <utility>

#include "storage/auth/sha256.h"
#include "storage/oci/oci_failure.h"
#include "storage/oci/oci_json.h"
#include "storage/store_checks.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

constexpr char kListFields[] = "name,size,etag,timeModified,md5,storageTier";
constexpr char kListKeyFields[] = "name,size,etag";

DialectTraits OciTraits(bool preauthenticated) {
  DialectTraits traits;
  traits.capabilities = {.conditional_create = true,
                         .conditional_replace = true,
                         .compose = true,
                         .presign = true,
                         .unfinished_uploads = true,
                         .resumable_uploads = !preauthenticated};
  traits.checksum = ChecksumKind::kCrc32c;
  traits.page_tokens_are_keys = true;
  // Parts may be smaller than elsewhere; the documentation names 10 MiB as the least that makes sense.
  traits.min_part_bytes = 1;
  traits.max_part_bytes = int64_t{50} << 30;
  if (preauthenticated) {
    // It lets objects be written whole only.
    traits.min_part_bytes = traits.max_part_bytes;
    traits.max_parts = 1;
  }
  return traits;
}

void AddCondition(http::Headers& headers, const WriteCondition& condition) {
  if (condition.kind == WriteCondition::Kind::kAbsent) {
    headers.Add("if-none-match", "*");
  } else if (condition.kind == WriteCondition::Kind::kMatches) {
    headers.Add("if-match", condition.etag);
  }
}

void AddParameter(std::string& query, std::string_view name, std::string_view value) {
  if (!value.empty()) {
    query += fmt::format("&{}={}", name, http::PercentEncode(value));
  }
}

template <typename T>
Dialect::Read<T> ReadBody(const http::Response& answer, Result<T> parsed) {
  return parsed.ok() ? Dialect::Read<T>{*std::move(parsed), std::nullopt}
                     : Dialect::Read<T>{{}, UnreadableOciAnswer(answer, parsed.status())};
}

template <typename T>
Dialect::Read<T> ReadBody(const http::Response& answer, std::optional<T> parsed) {
  return parsed ? Dialect::Read<T>{*std::move(parsed), std::nullopt}
                : Dialect::Read<T>{{}, UnreadableOciAnswer(answer)};
}

}  // namespace

OciDialect::OciDialect(OciUrls urls, const StoreOptions& options)
    : urls_(std::move(urls)), options_(options), traits_(OciTraits(urls_.preauthenticated())) {}

std::string OciDialect::Uri(std::string_view key) const {
  return fmt::format("oci://{}@{}/{}", urls_.bucket(), urls_.name_space(), key);
}

Failure OciDialect::ReadFailure(const http::Response& answer) const {
  return ReadOciFailure(answer);
}

Outgoing OciDialect::Make(const char* method, std::string url) const {
  Outgoing outgoing;
  outgoing.request.method = method;
  outgoing.request.url = std::move(url);
  return outgoing;
}

Outgoing OciDialect::MakeWithJson(const char* method, std::string url, std::string json) const {
  Outgoing outgoing = Make(method, std::move(url));
  outgoing.request.headers.Add("content-type", "application/json");
  const Sha256Digest digest = Sha256(json);
  outgoing.payload_hash = Base64Encode(AsText(digest));
  // The signature covers it, and a signer does not see what a source will send.
  outgoing.request.headers.Add("content-length", std::to_string(json.size()));
  outgoing.source = std::make_unique<TextSource>(std::move(json));
  return outgoing;
}

Outgoing OciDialect::Head(const std::string& key) const {
  return Make("HEAD", urls_.Object(key));
}

Dialect::Read<ObjectInfo> OciDialect::ReadHead(const Asked& asked, const http::Response& answer) const {
  return ReadBody(answer, OciInfoOfHeaders(asked.key, answer));
}

Outgoing OciDialect::Get(const std::string& key, int64_t offset, int64_t length, const std::string& etag) const {
  Outgoing outgoing = Make("GET", urls_.Object(key));
  outgoing.request.headers.Add("range", RangeValue(offset, length));
  if (!etag.empty()) {
    outgoing.request.headers.Add("if-match", etag);
  }
  return outgoing;
}

Dialect::Read<RangeHead> OciDialect::ReadGet(const Asked& asked, const http::Response& answer) const {
  auto info = OciInfoOfHeaders(asked.key, answer);
  if (!info) {
    return {{}, UnreadableOciAnswer(answer)};
  }
  return {RangeHead{*std::move(info), std::nullopt}, std::nullopt};
}

Outgoing OciDialect::Put(const std::string& key, ChecksumSource& body, const WriteOptions& options,
                         const std::string& token) const {
  Outgoing outgoing = Make("PUT", urls_.Object(key));
  http::Headers& headers = outgoing.request.headers;
  headers.Add("content-type", options.content_type);
  for (const auto& [name, value] : options.metadata) {
    headers.Add("opc-meta-" + name, value);
  }
  if (!token.empty()) {
    headers.Set("opc-meta-" + std::string(kWriteTokenName), token);
  }
  if (!options_.storage_class.empty()) {
    headers.Add("storage-tier", options_.storage_class);
  }
  if (!options_.encryption_key_id.empty()) {
    headers.Add("opc-sse-kms-key-id", options_.encryption_key_id);
  }
  AddCondition(headers, options.condition);
  // Known before the first byte, so that the service publishes nothing that differs from it.
  headers.Add("opc-checksum-algorithm", "CRC32C");
  headers.Add("opc-content-crc32c", body.checksum().Base64());
  return outgoing;
}

Dialect::Read<ObjectInfo> OciDialect::ReadPut(const std::string& key, const http::Response& answer) const {
  ObjectInfo info = {.key = key, .etag = EtagOf(answer.headers.Find("etag").value_or(""))};
  info.version = answer.headers.Find("version-id").value_or("");
  info.checksum = OciHeaderChecksum(answer);
  return {std::move(info), std::nullopt};
}

Outgoing OciDialect::CreateUpload(const std::string& key, const WriteOptions& options, const std::string& token) const {
  Outgoing outgoing =
      MakeWithJson("POST", urls_.Uploads(), OciCreateUploadBody(key, options, token, options_.storage_class));
  outgoing.request.headers.Add("opc-checksum-algorithm", "CRC32C");
  if (!options_.encryption_key_id.empty()) {
    outgoing.request.headers.Add("opc-sse-kms-key-id", options_.encryption_key_id);
  }
  return outgoing;
}

Dialect::Read<std::string> OciDialect::ReadCreateUpload(const http::Response& answer) const {
  return ReadBody(answer, OciTextAt(answer.body, "uploadId"));
}

Outgoing OciDialect::PutPart(const std::string& key, const std::string& upload_id, int number,
                             ChecksumSource& body) const {
  Outgoing outgoing = Make(
      "PUT", fmt::format("{}?uploadId={}&uploadPartNum={}", urls_.Upload(key), http::PercentEncode(upload_id), number));
  outgoing.request.headers.Add("opc-checksum-algorithm", "CRC32C");
  outgoing.request.headers.Add("opc-content-crc32c", body.checksum().Base64());
  return outgoing;
}

Dialect::Read<UploadedPart> OciDialect::ReadPutPart(const http::Response& answer) const {
  UploadedPart part;
  part.etag = EtagOf(answer.headers.Find("etag").value_or(""));
  part.checksum = OciHeaderChecksum(answer);
  part.digest = OciHeaderMd5(answer);
  return {std::move(part), std::nullopt};
}

Outgoing OciDialect::CompleteUpload(const std::string& key, const std::string& upload_id,
                                    std::span<const UploadedPart> parts, const std::optional<Checksum>& whole,
                                    const WriteOptions& options) const {
  Outgoing outgoing = MakeWithJson(
      "POST", fmt::format("{}?uploadId={}", urls_.Upload(key), http::PercentEncode(upload_id)), OciCommitBody(parts));
  AddCondition(outgoing.request.headers, options.condition);
  return outgoing;
}

Dialect::Read<ObjectInfo> OciDialect::ReadCompleteUpload(const std::string& key, const http::Response& answer) const {
  // It has no body by which an answer of the store could be told from another's.
  Read<ObjectInfo> read = ReadPut(key, answer);
  read.failure = FailureWithoutEtag(read.value);
  return read;
}

Outgoing OciDialect::AbortUpload(const std::string& key, const std::string& upload_id) const {
  return Make("DELETE", fmt::format("{}?uploadId={}", urls_.Upload(key), http::PercentEncode(upload_id)));
}

Outgoing OciDialect::ListParts(const std::string& key, const std::string& upload_id, const std::string& page) const {
  std::string query = fmt::format("limit=1000&uploadId={}", http::PercentEncode(upload_id));
  AddParameter(query, "page", page);
  return Make("GET", urls_.Upload(key) + "?" + query);
}

Dialect::Read<PartsPage> OciDialect::ReadListParts(const http::Response& answer) const {
  Read<PartsPage> page = ReadBody(answer, ParseOciParts(answer.body));
  page.value.next_page = answer.headers.Find("opc-next-page").value_or("");
  return page;
}

Outgoing OciDialect::List(const ListOptions& options) const {
  std::string query = fmt::format("limit={}&fields={}", options.max_keys,
                                  http::PercentEncode(options.keys_only ? kListKeyFields : kListFields));
  AddParameter(query, "prefix", options.prefix);
  AddParameter(query, "delimiter", options.delimiter);
  AddParameter(query, "end", options.end_before);
  // The token is the first name of the next page, which lies behind where the listing began.
  if (options.page_token.empty()) {
    AddParameter(query, "startAfter", options.start_after);
  } else {
    AddParameter(query, "start", options.page_token);
  }
  return Make("GET", urls_.Objects() + "?" + query);
}

Dialect::Read<ListPage> OciDialect::ReadList(const http::Response& answer) const {
  return ReadBody(answer, ParseOciList(answer.body));
}

Outgoing OciDialect::Remove(const std::string& key) const {
  return Make("DELETE", urls_.Object(key));
}

Result<Outgoing> OciDialect::MakeBucket() const {
  const std::string compartment = options_.Own("compartment");
  if (compartment.empty()) {
    return Status::InvalidArgument("cannot make " + Uri("") +
                                   ": no compartment is named that it is to belong to (set --compartment)");
  }
  return MakeWithJson("POST", urls_.Buckets(), OciBucketDetails(urls_.bucket(), compartment, options_.storage_class));
}

Outgoing OciDialect::RemoveBucket() const {
  return Make("DELETE", urls_.Bucket());
}

Outgoing OciDialect::Copy(const OciUrls& from, const ObjectInfo& source, const std::string& to,
                          const std::string& region, const WriteOptions& options) const {
  return MakeWithJson("POST", from.Copy(),
                      OciCopyBody({region, urls_.name_space(), urls_.bucket(), source, to, options}));
}

Outgoing OciDialect::WorkRequest(const std::string& id) const {
  return Make("GET", urls_.WorkRequest(id));
}

Outgoing OciDialect::Presign(const std::string& key, bool write, double expires) const {
  return MakeWithJson("POST", urls_.PreauthenticatedRequests(), OciPresignBody(key, write, expires));
}

Outgoing OciDialect::ListUploads(const std::string& page) const {
  std::string query = "limit=1000";
  AddParameter(query, "page", page);
  return Make("GET", urls_.Uploads() + "?" + query);
}

}  // namespace assay::storage
